"""The candidates that a line of a log lists, from text to articles and pools."""

import re

import numpy as np

from maskedbandit.lab.logs.text_reader import FEATURES, Pool

REMEMBERED = 2**16  # texts of a candidate

# a number has at most as many digits as the compiled loop reads
CANDIDATE = re.compile(rb"(\d{1,18})((?:[ \t\r]+[1-6]:-?(?!(?:\d\.?){19})\d+(?:\.\d*)?)*)[ \t\r]*")


class Catalogue:
    """Articles and pools in the order in which they are first seen."""

    def __init__(self) -> None:
        self.arms: dict[int, int] = {}  # by id
        self.ids: list[int] = []
        self.features: list[tuple[float, ...]] = []
        self.pools: dict[tuple[int, ...], int] = {}
        self.known: dict[bytes, int] = {}  # texts of one candidate, to their arms
        self.bare: set[int] = set()
        self.changed: set[int] = set()
        self.twice: set[tuple[int, ...]] = set()

    def look(self, text: bytes) -> Pool | None:
        """The pool of the candidates in a text; None if the text does not list candidates."""
        text = text.rstrip(b" \t\r")
        candidates = text.split(b"|")[1:]
        if len(self.known) > REMEMBERED:
            self.known.clear()
        if not candidates or not self._learned([each for each in candidates if each not in self.known]):
            return None
        listed = [*map(self.known.__getitem__, candidates)]
        arms = tuple(dict.fromkeys(listed))
        if len(arms) < len(listed):
            self.twice.add(tuple(listed))
        number = self.pools.setdefault(arms, len(self.pools))
        ids = [*map(self.ids.__getitem__, arms)]
        return Pool(np.frombuffer(text, np.uint8), *map(np.array, (ids, arms, [number])))

    def _learned(self, texts: list[bytes]) -> bool:
        """Add candidates, one to a text; add none if one of the texts is not a candidate."""
        found = []
        for text in texts:
            one = CANDIDATE.fullmatch(text)
            if one is None:
                return False
            pairs = [pair.split(b":") for pair in one[2].split()]
            said = {int(name): float(value) for name, value in pairs}
            if len(said) < len(pairs):
                return False
            features = tuple(said.get(f + 1, float(f == 0)) for f in range(FEATURES))
            found.append((text, int(one[1]), features, len(said) < FEATURES))
        for text, each, features, bare in found:
            arm = self.known[text] = self.arms.setdefault(each, len(self.ids))
            if arm == len(self.ids):
                self.ids.append(each)
                self.features.append(features)
            elif self.features[arm] != features:
                self.changed.add(arm)
            if bare:
                self.bare.add(arm)
        return True
