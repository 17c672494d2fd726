"""The gallery: every figure of the documents, with the command that draws it."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tools.site.checkout import ROOT, read_title
from tools.site.experiments import list_experiments

FIGURES = "docs/figures"
SCREENSHOTS = {
    "docs/figures/page": "python -m tools.figures.pages docs/figures/page",
    "docs/figures/page/states": "python -m tests.service.pictures docs/figures/page/states",
}
TITLES = {
    FIGURES: "Experiments and reports",
    f"{FIGURES}/compare": "Figures of a comparison, for a paper",
    f"{FIGURES}/drawings": "Drawings",
    f"{FIGURES}/page": "Pages of the service",
    f"{FIGURES}/page/states": "Pages of the service, at every stage",
}


def list_commands(makefile: str) -> dict[str, str]:
    """What draws each figure that is not of an experiment, by its file or its folder: what `make figures` does."""
    rules = makefile.partition("\nfigures:")[2].partition("\n\n")[0]
    lines = [line.strip().removeprefix("@").replace("$(BIN)/", "") for line in rules.splitlines() if "$$" not in line]
    drawn = {}
    for before, line in pairwise(["", *lines]):
        if line.startswith(("cp ", "python ")):
            drawn[line.rpartition(" ")[2]] = before if line.startswith("cp ") else line
    return drawn


def find_command(picture: str, commands: dict[str, str]) -> str:
    """What draws a picture."""
    for place in (picture, *(parent.as_posix() for parent in Path(picture).parents)):
        if place in commands:
            return commands[place]
    raise SystemExit(f"{picture} is in the gallery, and nothing says what draws it: see tools/site/gallery.py")


def shown_in(documents: dict[str, str]) -> dict[str, list[str]]:
    """The documents that show each picture, or link to it."""
    found: dict[str, list[str]] = {}
    for file, text in documents.items():
        folder = Path(file).parent
        for target in re.findall(r'\]\(([^)\s]+\.(?:svg|png))\)|(?:src|srcset)="([^"]+)"', text):
            found.setdefault((folder / (target[0] or target[1])).as_posix(), []).append(file)
    return found


def write_gallery(documents: dict[str, str]) -> str:
    """The page, as if it stood in the folder of documents."""
    experiments = {f"docs/{one.picture}": one for one in list_experiments()}
    commands = {name: one.command for name, one in experiments.items()}
    commands |= list_commands((ROOT / "Makefile").read_text()) | SCREENSHOTS
    shown = shown_in(documents)
    lines = ["# Gallery", "", "Every figure of these pages, with the command that draws it.", ""]
    for folder, pictures in list_pictures():
        lines += [f"## {TITLES.get(folder, Path(folder).name.capitalize())}", ""]
        if folder in SCREENSHOTS:
            lines += [*write_screenshots(folder, pictures), ""]
            continue
        for picture in pictures:
            one, name = experiments.get(picture), Path(picture).stem.replace("_", " ")
            where = [f"[{read_title(documents[file])}](../{file})" for file in dict.fromkeys(shown.get(picture, []))]
            about = [f"{one.title} {one.source}. [The experiment](../{one.file})."] if one else []
            about += [f"Shown in: {', '.join(where)}."] if where else []
            lines += [
                f"### {name[0].upper()}{name[1:]}",
                "",
                f"[![{one.title if one else name}](../{picture})](../{picture})",
                "",
            ]
            lines += [*about, "", f"    {find_command(picture, commands)}", ""]
    return "\n".join(lines)


def write_screenshots(folder: str, pictures: list[str]) -> Iterator[str]:
    """Pictures of pages, small and beside each other, each of which leads to the large one."""
    yield from [f"    {SCREENSHOTS[folder]}", "", '<div class="screenshots">']
    for picture in pictures:
        name = Path(picture).stem
        said = re.sub(r"[_-]", " ", name)
        yield f'<a href="../{picture}"><img src="../{picture}" alt="" loading="lazy">{said}</a>'
    yield "</div>"


def list_pictures() -> Iterator[tuple[str, list[str]]]:
    """Files of pictures, by the folder that they are in."""
    folders: dict[str, list[str]] = {}
    for path in sorted((ROOT / FIGURES).rglob("*")):
        if path.suffix in (".svg", ".png"):
            name = path.relative_to(ROOT)
            folders.setdefault(name.parent.as_posix(), []).append(name.as_posix())
    yield from sorted(folders.items())
