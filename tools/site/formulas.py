"""Formulas as a page shows them: what follows `_` is below the line, and what follows `^` is above it.

They are written in Unicode, in text or in an indented block. A block without such a sign, a sum, a root, a power or a
comparison is code.
"""

import re
from html import escape
from textwrap import dedent

LETTERS = "A-Za-zα-ωΑ-Ω"
BLOCK = re.compile(r"(?<=\n\n)(?:    .*\n*)+")
NAME = rf"(?<![A-Za-z_.])(?:[{LETTERS}]{{1,2}}|gap|max|min|argmax|argmin)(?:\\?\*|′)?"  # no part of a longer name
BELOW = rf"_(\{{[^{{}}]*\}}|[{LETTERS}]{{1,3}}\*?(?![{LETTERS}\d_])|\d|\+)(?!\.py|\.md)"
ABOVE = rf"\^(\{{[^{{}}]*\}}|\([^()]*\)|\|\w\||−?[{LETTERS}]{{1,2}}(?![{LETTERS}])[\*₀-₉]?|[\d.]+)"
SIGN = re.compile(rf"`[^`]*`|((?:{NAME}|[)|²>]){BELOW})|(?<=[\w)*>])({ABOVE})")
MATHEMATICS = re.compile("[≤≥≠Σ√²³]")


def set_formulas(markdown: str) -> str:
    """A text whose formulas are set.

    >>> print(set_formulas("So n_a of them:\\n\\n    arm = argmax_a  (S_a)_+ / n_a + b^|z|\\n\\nwith e^−λ of `n_a`."))
    So n<sub>a</sub> of them:
    <BLANKLINE>
    <pre class="formula">arm = argmax<sub>a</sub>  (S<sub>a</sub>)<sub>+</sub> / n<sub>a</sub> + b<sup>|z|</sup></pre>
    <BLANKLINE>
    with e<sup>−λ</sup> of `n_a`.
    """
    parts, end = [], 0
    for block in BLOCK.finditer(markdown):
        parts += [set_signs(markdown[end : block.start()]), set_block(block[0])]
        end = block.end()
    return "".join([*parts, set_signs(markdown[end:])])


def set_block(block: str) -> str:
    """A block, if it is a formula."""
    text = escape(dedent(block).rstrip("\n"), quote=False)
    signs = set_signs(text)
    if signs == text and not MATHEMATICS.search(text):
        return block
    end = block[len(block.rstrip("\n")) :]
    return '<pre class="formula">' + re.sub("`([^`]*)`", r"<code>\1</code>", signs) + "</pre>" + end


def set_signs(text: str) -> str:
    """A text with its letters below and above the line."""

    def place(found: re.Match[str]) -> str:
        _, below, _, above = found.groups()
        if below:
            before = found[0].partition("_")[0]
            return f"{before}<sub>{set_signs(below.strip('{}'))}</sub>"
        return f"<sup>{set_signs(above.strip('{}()'))}</sup>" if above else found[0]

    once = SIGN.sub(place, text)
    return once if once == text else set_signs(once)
