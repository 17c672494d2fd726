"""A room is a folder in which every file holds one class; the classes are found by listing the folder.

So a policy, a channel or a noise is added by adding its file, and nothing else is edited. The file, the name in
experiments and the class have one name: `ucb1.py`, "ucb1", `UCB1`. The package has a `room`, whose methods are its
`__getattr__` and `__dir__`: what Python calls for a name that the package does not define, and for `dir`.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from maskedbandit.errors import UnknownName
from maskedbandit.value_words import plain_name


@dataclass(frozen=True)
class Room:
    """The classes in the files below a package.

    >>> Room("policy", "maskedbandit.policies")["successive_elimination"].__name__
    'SuccessiveElimination'
    >>> Room("policy", "maskedbandit.policies")["sucessive_elimination"]
    Traceback (most recent call last):
    maskedbandit.errors.UnknownName: policy is 'sucessive_elimination': did you mean 'successive_elimination'? ...
    """

    kind: str
    package: str

    @cached_property
    def modules(self) -> dict[str, str]:
        """Module by the name of its file; listed, not imported. The folder `parts` holds what the classes share."""
        here = import_module(self.package).__path__
        found = walk_packages(here, prefix=self.package + ".")
        names = [module.name for module in found if not module.ispkg]
        return {name.rpartition(".")[2]: name for name in names if ".parts." not in name}

    def __getitem__(self, name: str) -> Any:
        plain = plain_name(name)
        for file, module in self.modules.items():
            if plain_name(file) == plain:
                for found in vars(import_module(module)).values():
                    named = inspect.isclass(found) and plain_name(found.__name__) == plain
                    if named and not inspect.isabstract(found):
                        return found
        raise UnknownName(self.kind, name, self)

    def __iter__(self) -> Iterator[str]:
        """Names of the files that hold a class one can make: those that define the room's terms are left out."""
        for file, module in sorted(self.modules.items()):
            classes = {plain_name(n): c for n, c in vars(import_module(module)).items() if inspect.isclass(c)}
            found = classes.get(plain_name(file))
            if found is not None and not inspect.isabstract(found):
                yield file

    def attribute(self, name: str) -> Any:
        """What the package gives for a name that it does not define: a file, or the class in a file."""
        if name in self.modules:
            return import_module(self.modules[name])
        if name.startswith("_"):  # what tools ask any object for: nobody has misspelled a class
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        try:
            return self[name]
        except UnknownName:
            unknown = UnknownName(self.kind, name, [self[each].__name__ for each in self])
            raise AttributeError(str(unknown)) from None

    def classes(self) -> list[str]:
        """Names of the classes, for `dir` of the package."""
        return ["room", *(self[name].__name__ for name in self)]

    def about(self) -> Iterator[tuple[str, str]]:
        """Names, each with the first sentence of its file and the paper that its first paragraph cites first."""
        for name in self:
            text = inspect.getdoc(import_module(self.modules[name])) or ""
            line = text.partition("\n")[0].partition(" [")[0].rstrip(".:")
            paper = re.search(r"\[([A-Z][A-Za-z+]*\d\d)[,;\]]", text.partition("\n\n")[0])
            yield name, line + (f" [{paper[1]}]" if paper else "")
