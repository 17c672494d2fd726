"""The check of the built site, on sites that are broken in one way each."""

from pathlib import Path

from tests.for_each import for_each
from tools.site.check import Built

SOUND = {
    "index.html": '<link rel="stylesheet" href="site.css"><a href="0.1/a.html#there">a</a><a href="0.1">b</a>'
    '<img src="x.png" srcset="x.png 1x, x.png 2x"><a href="https://arxiv.org/abs/1">c</a><a href="mailto:a@b.c">d</a>',
    "0.1/index.html": '<a href="../x.png">x</a><a href="#__skip">s</a>',
    "0.1/a.html": '<h2 id="there">There</h2><a href="./../index.html">up</a><a href="#there">t</a>',
    "x.png": "",
    "site.css": "a { background: url(data:image/png;base64,AA) }",
}
BROKEN = {  # a page with one thing more, and what is said of it
    '<a href="gone.html">a</a>': "index.html: gone.html leads to no file",
    '<a href="0.1/a.html#gone">a</a>': "index.html: 0.1/a.html#gone leads to no place on that page",
    '<a href="#gone">a</a>': "index.html: #gone leads to no place on that page",
    '<a href="/0.1/a.html">a</a>': "index.html: /0.1/a.html begins at the root of its host, where the site may not be",
    '<a href="http://unheard.example/">a</a>': "index.html: http://unheard.example/ leads to a host that nobody named",
    '<a href="javascript:x()">a</a>': "index.html: javascript:x() is no address of a page",
    '<img src="gone.png">': "index.html: gone.png leads to no file",
    '<img srcset="x.png 1x, gone.png 2x">': "index.html: gone.png leads to no file",
    '<script src="https://arxiv.org/x.js"></script>': "index.html: asks for https://arxiv.org/x.js",
    '<link rel="preconnect" href="//fonts.example">': "index.html: asks for //fonts.example",
    "<p style=\"background: url('https://arxiv.org/x')\">": "index.html: asks for https://arxiv.org/x",
    '<pre class="mermaid">': "index.html: the theme would fetch mermaid from another host",
}


def built(folder: Path, **changed: str) -> list[str]:
    for name, text in (SOUND | changed).items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return list(Built(folder).faults())


def test_nothing_is_said_of_a_sound_site(tmp_path: Path) -> None:
    assert built(tmp_path) == []


@for_each("more", BROKEN)
def test_what_is_broken_is_said(more: str, tmp_path: Path) -> None:
    assert BROKEN[more] in built(tmp_path, **{"index.html": SOUND["index.html"] + more})


def test_a_style_sheet_that_asks_another_host_is_found(tmp_path: Path) -> None:
    said = built(tmp_path, **{"site.css": "@import 'https://fonts.example/a.css'; a { src: url(//b.example/c) }"})
    assert said == ["site.css: asks for https://fonts.example/a.css", "site.css: asks for //b.example/c"]
