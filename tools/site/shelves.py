"""The rooms of the package as folders of pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby

from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.rooms import Room


@dataclass(frozen=True)
class Shelf:
    """A room as a folder of pages."""

    folder: str
    title: str
    package: str
    kind: str  # what it is called in an experiment; empty if experiments do not name it so
    guide: str = ""  # how one more is added

    @property
    def room(self) -> Room:
        """The room itself."""
        return import_module(self.package).room

    @property
    def interfaces(self) -> list[str]:
        """The modules of what its classes share."""
        classes = set(self.room)
        return [module for name, module in sorted(self.room.modules.items()) if name not in classes]

    def page(self, name: str) -> str:
        """The page of a class."""
        return f"{self.folder}/{name}.md"

    def group(self, name: str) -> str:
        """The heading of a class in lists."""
        heading = find_purpose(self.room[name].goal).heading if self.folder == "policies" else ""
        return heading[:1].upper() + heading[1:]

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """Names by heading, in the order of `maskedbandit list`."""
        rank = {name: find_purpose(self.room[name].goal).rank if self.group(name) else 0 for name in self.room}
        for heading, names in groupby(sorted(self.room, key=rank.__getitem__), self.group):
            yield heading, list(names)


SHELVES = (
    Shelf("policies", "Policies", "maskedbandit.policies", "policy", "add_a_policy.md"),
    Shelf("channels", "Channels", "maskedbandit.channels", "channel", "add_a_channel.md"),
    Shelf("noises", "Noises", "maskedbandit.noises", "noise", "add_a_noise.md"),
    Shelf("backends", "Backends", "maskedbandit.backends", "backend"),
    Shelf("worlds", "Worlds", "maskedbandit.lab.worlds", "instance", "add_a_world.md"),
    Shelf("delays", "Delays", "maskedbandit.lab.delays", "delay", "add_a_world.md#add-a-delay"),
)
