"""A small study of sites: its coordinator, and the sites themselves, each with a database of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.requests import Assigned
from maskedbandit.store.sites.lists import ToldList, agree_to_lists, list_agreed
from maskedbandit.store.sites.people import name_for_coordinator
from maskedbandit.store.sites.study import SiteStudy, register_site
from maskedbandit.store.sites.verify import verify_site
from maskedbandit.store.studies import find_witness, prepare_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import small_protocol

REWARD = {"window": "20 seconds", "exposure": "10 seconds"}
SHARES = ("1/2", "1/2", "1/2", "1/2")


class AtSite:
    """One site, in this process."""

    def __init__(self, address: str, folder: Path, clock: Callable[[], int], number: int) -> None:
        self.address, self.folder, self.clock, self.number = address, folder, clock, number
        with closing(open_database(address)) as database:
            self.witness = prepare_witness(database, folder)
        self.keys = read_own_keys(self.witness)

    def begin(self, text: str, keys: Sequence[Any], coordinator: str, told: Sequence[ToldList] = ()) -> None:
        """Take part in a study."""
        with closing(open_database(self.address)) as database:
            register_site(database, self.witness, text, keys, coordinator, self.clock(), told)
        self.name = Protocol.from_text(text).name
        self.open()

    def open(self) -> None:
        """Hold the study."""
        database = open_database(self.address)
        self.study = SiteStudy(database, find_witness(database, self.folder), self.name, self.clock, "tester")

    def do(self, *operation: Any) -> Any:
        """An operation in a transaction of its own."""
        return self.study.apply([operation])[0].value()

    def confirm(self, told: Sequence[ToldList], name: str) -> None:
        """Somebody at the site agrees to a list of sites, and the server's clock goes on."""
        with closing(open_database(self.address)) as database:
            agree_to_lists(database, self.witness, self.name, told, name)
        self.do("tick")

    def answer(self, due: Sequence[RoundDue]) -> list[RoundAnswer]:
        """What it answers to what is due."""
        return [self.do("round", each) for each in due]


class Sites:
    """A coordinator with its study, and its sites."""

    def __init__(
        self,
        address: str,
        folder: Path,
        clock: Callable[[], int],
        shares: Sequence[str] = SHARES,
        at_sites: Sequence[str] = (),  # the databases of the first of them
        **changes: Any,
    ) -> None:
        self.address, self.around, self.folder, self.clock = address, folder, folder / "witness", clock
        files = [f"sqlite:///{folder}/site{number}.db" for number in range(len(at_sites), len(shares))]
        self.sites = [
            AtSite(each, folder / f"site{number}", clock, number) for number, each in enumerate([*at_sites, *files])
        ]
        named = [self.name(each, share) for each, share in zip(self.sites, shares, strict=True)]
        backend = {"name": "sites", **changes.pop("backend", {})}
        channel = {
            "name": "distributed",
            "epsilon": 1,
            "honest": "1/2",
            "backend": backend,
            **changes.pop("channel", {}),
        }
        policy = {"name": "successive_elimination", "least": 8}
        table = {"channel": channel, "policy": policy, "reward": REWARD, "sites": {"wait": "1 minute", "list": named}}
        self.protocol = small_protocol(**(table | changes))
        write_study(self.protocol, address, self.folder)
        with closing(open_database(address)) as database:
            self.keys = read_own_keys(prepare_witness(database, self.folder))
        for each in self.sites:
            self.pair(each)
        self.study = self.open()
        self.study.start()
        for each in self.sites:
            each.begin(self.protocol.text, [one.keys for one in self.sites], self.keys.fingerprint)

    def pair(self, site: AtSite) -> None:
        """A site joins the coordinator."""
        with closing(open_database(self.address)) as database, database.transaction():
            write_pairing(database, site.keys, "site", f"site {site.number}", "", f"secret {site.number}", 0)

    def join(self) -> AtSite:
        """One more site joins the coordinator, and is in no list yet."""
        number, folder = len(self.sites), self.around
        made = AtSite(f"sqlite:///{folder}/site{number}.db", folder / f"site{number}", self.clock, number)
        self.sites.append(made)
        self.pair(made)
        return made

    def relist(self, shares: dict[int, str]) -> None:
        """From now on these are the sites of the study, by their numbers."""
        self.study.change_sites({"list": [self.name(self.sites[number], each) for number, each in shares.items()]})

    def name(self, site: AtSite, share: str) -> dict[str, str]:
        """A site as a protocol names it."""
        return {"name": f"site {site.number}", "key": site.keys.fingerprint, "share": share}

    def told(self) -> list[ToldList]:
        """The later lists of sites, as the coordinator tells them."""
        return [ToldList(each.first, each.listed) for each in self.study.site_lists.stages[1:]]

    def enter(self, site: AtSite) -> None:
        """A site that is in the newest list enters the study."""
        first = self.study.site_lists.stages[0]
        site.begin(self.protocol.text, list(first.keys.values()), self.keys.fingerprint, self.told())

    def confirm(self, *numbers: int) -> None:
        """These sites agree to the newest list, and say so."""
        newest = self.study.site_lists.stages[-1]
        for number in numbers:
            self.sites[number].confirm(self.told(), newest.name)
            self.do("rounds", number, [], *self.sites[number].study.confirm())

    def open(self) -> Study:
        """The study, held by this process."""
        database = open_database(self.address)
        return Study(database, find_witness(database, self.folder), self.protocol.name, self.clock, "tester")

    def do(self, *operation: Any) -> Any:
        """An operation of the coordinator in a transaction of its own."""
        return self.study.apply([operation])[0].value()

    def come(self, site: int, unit: str, value: float | None = None) -> Assigned:
        """A person comes to a site, sees the arm, and has an outcome."""
        at = self.sites[site]
        person = name_for_coordinator(at.witness, self.protocol.project, unit)
        given: Assigned = self.do("assign", person, False, None, site)
        if given.ticket is not None:
            at.do("note_place", person, given.cohort, {"ticket": given.ticket})
            self.do("expose", given.ticket, site)
            at.do("expose", given.ticket)
            if value is not None:
                at.do("report", given.ticket, value)
        return given

    def come_all(self, coming: Sequence[tuple[int, str]], draw: Callable[[int], float]) -> None:
        """People come to their sites, as in `come`; the coordinator and each site have all of them at once."""
        named = [
            (site, name_for_coordinator(self.sites[site].witness, self.protocol.project, unit)) for site, unit in coming
        ]
        done = self.study.apply([("assign", person, False, None, site) for site, person in named])
        given = [(site, person, each.value()) for (site, person), each in zip(named, done, strict=True)]
        placed = [(site, person, assigned) for site, person, assigned in given if assigned.ticket is not None]
        for each in self.study.apply([("expose", assigned.ticket, site) for site, _, assigned in placed]):
            each.value()
        for at in self.sites:
            own = [(person, assigned) for site, person, assigned in placed if site == at.number]
            told = [("note_place", person, assigned.cohort, {"ticket": assigned.ticket}) for person, assigned in own]
            told += [("expose", assigned.ticket) for _, assigned in own]
            told += [("report", assigned.ticket, draw(assigned.arm)) for _, assigned in own]
            for each in at.study.apply(told):
                each.value()

    def go_round(self, away: Sequence[int] = (), times: int = 20) -> list[Release]:
        """Let the sites answer until nothing is due any more, but for those that are away."""
        before = len(self.study.releases())
        waiting: dict[int, list[RoundAnswer]] = {each.number: [] for each in self.sites}
        idle = 0
        for _ in range(times):
            for each in self.sites:
                if each.number not in away:
                    due = self.do("rounds", each.number, waiting[each.number], *each.study.confirm())
                    newest = self.study.site_lists.stages[-1]
                    waiting[each.number] = each.answer(list_agreed(each.study.stages, newest.name, newest.first, due))
            busy = any(waiting[each.number] for each in self.sites if each.number not in away)
            idle = 0 if busy else idle + 1
            if idle == 2:  # what the last of them answered may have begun something for the others
                break
        self.study.tick()
        return self.study.releases()[before:]

    def verify(self) -> None:
        """All that the coordinator and the sites stored fits together."""
        with closing(open_database(self.address)) as database:
            verify_study(database, find_witness(database, self.folder), self.protocol.name)
        for each in self.sites:
            with closing(open_database(each.address)) as database:
                verify_site(database, each.witness, each.name)

    def close(self) -> None:
        """Give everything back."""
        self.study.close()
        for each in self.sites:
            each.study.close()


def make_sites_without_noise(
    folder: Path, clock: Callable[[], int], patch: pytest.MonkeyPatch, **changes: Any
) -> Iterator[Sites]:
    """A study of sites that add none: a release says the sum of its outcomes."""
    patch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    with closing(Sites(f"sqlite:///{folder}/study.db", folder, clock, **changes)) as made:
        yield made
