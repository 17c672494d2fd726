"""What was released of a study with a shuffler, held against both databases, both ledgers, and what devices sent."""

import time
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.device.own_place import OwnPlace
from maskedbandit.device.shuffled_reports import draw_bundle, seal_bundle_report
from maskedbandit.store.book.entries import CohortHelped, Mixed, Release, read_entries
from maskedbandit.store.book.site_entries import Discarded
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.shuffling.verify import verify_shuffling
from maskedbandit.store.studies import find_witness
from maskedbandit.study.protocol import Protocol
from tests.service.live import Live
from tests.service.two_operators_journal import PAUSE, TABLE, TRIES, DeviceJournal, ToldReport

FARTHEST = 40  # scales: discrete Laplace noise is that far once in 10^15
EPSILON = 60  # so much that there is no noise but coins: of a release once in 10^25
CHANNELS: dict[str, dict[str, Any]] = {
    "shares": {"name": "split_and_mix", "epsilon": EPSILON, "eta": f"1/{10**40}", "honest": "1/4"},
    "coins": {"name": "shuffled", "epsilon": EPSILON, "delta": "1/1000", "honest": "1/4"},
}


class SentBundle(NamedTuple):
    """What a device sent once, until it was answered."""

    cohort: int  # as the shuffler knows it
    place: int
    value: int  # the outcome, 0 or 1
    taken: bool  # or else it was late, and may be in the mix all the same, if an answer before was lost


class HeldMixes(NamedTuple):
    """What was compared."""

    releases: int
    discarded: int
    reports: int  # that are in the releases
    waiting: int  # mixes of cohorts that are neither released nor discarded yet


def hold_against_both(
    study: str,
    sent: Mapping[str, SentBundle],
    seen: Mapping[int, float],
    service: tuple[str, Path],
    shuffler: tuple[str, Path],
) -> HeldMixes:
    """No report is lost, doubled or another one, no cohort is mixed twice, and no place is dealt twice.

    `sent` is by ticket, of all whose arm was seen, and `seen` what was published, by cohort. Both operators are told by
    the address of the database and the folder of the witness. Noise is allowed as far as it may be, and no further.
    """
    with closing(open_database(service[0])) as ours, closing(open_database(shuffler[0])) as theirs:
        verify_study(ours, find_witness(ours, service[1]), study)
        verify_shuffling(theirs, find_witness(theirs, shuffler[1]), study)
        entries: list[Any] = [each for each in read_entries(ours, study) if isinstance(each, Release | Discarded)]
        mixed = [each for each in read_entries(theirs, study) if isinstance(each, Mixed)]
        dealt = ours.rows("SELECT cohort, place, ticket FROM place WHERE study = ? AND returned IS NULL", study)
        ((text,),) = ours.rows("SELECT protocol FROM study WHERE study = ?", study)
    assert len({(cohort, place) for cohort, place, _ in dealt}) == len(dealt), "a place was dealt twice"
    assert len({(each.cohort, each.place) for each in sent.values()}) == len(sent), "a place was dealt twice"
    assert len({each.cohort for each in mixed}) == len(mixed), "a cohort was mixed twice"
    releases = {each.cohort: each for each in entries if isinstance(each, Release)}
    assert len(releases) == sum(isinstance(each, Release) for each in entries), "a cohort was released twice"
    for cohort, total in seen.items():
        assert releases[cohort].total == total, "what was published is not in the ledger of the service"
    by_cohort, stated = {each.cohort: each for each in mixed}, set[int]()
    for each in entries:
        assert each.mixed is not None
        assert each.mixed.cohort not in stated, "a mix was used twice"
        stated.add(each.mixed.cohort)
        check_statement(each.mixed, by_cohort[each.mixed.cohort])
        if isinstance(each, Release):
            check_release(Protocol.from_text(text), each, sent)
    reports = sum(each.mixed.reports for each in releases.values() if each.mixed)
    return HeldMixes(len(releases), len(entries) - len(releases), reports, len(by_cohort.keys() - stated))


def check_statement(said: Any, made: CohortHelped) -> None:
    """What the service has as the shuffler's word is what the shuffler's ledger says."""
    for name in ("n", "reports", "messages", "digest", "offer"):
        assert getattr(said, name) == getattr(made, name), "both ledgers differ"
    assert said.entry == made.number, "both ledgers differ"


def check_release(protocol: Protocol, made: Release, sent: Mapping[str, SentBundle]) -> None:
    """A release has each report that was taken once, and no others but those that were late, and the default of all."""
    assert made.mixed is not None
    said, of_cohort = made.mixed, [each for each in sent.values() if each.cohort == made.mixed.cohort]
    taken = [each.value for each in of_cohort if each.taken]
    late = [each.value for each in of_cohort if not each.taken]
    more = said.reports - len(taken)
    assert 0 <= more <= len(late), "a report was lost or doubled"
    least, most = sum(taken) + max(0, more - late.count(0)), sum(taken) + min(more, sum(late))
    channel: Any = protocol.channel
    noise = (said.messages - said.reports) / 2 if isinstance(channel, Shuffled) else FARTHEST / float(channel.epsilon)
    assert least - noise <= made.total <= most + noise, "a report was lost or doubled, or is another one"


def write_killed(channel: dict[str, Any]) -> dict[str, Any]:
    """The table of a study whose operators are killed."""
    budget = {key: channel[key] for key in ("epsilon", "delta") if key in channel}
    return TABLE | {
        "channel": channel | {"backend": "shuffler"},
        "reward": {"window": "1 second", "grace": "5 seconds", "exposure": "1 hour"},
        "budget": {"delta": "1/1000", **budget},
    }


class ShuffledJournal(DeviceJournal):
    """Devices that report to a shuffler until they are answered, the same bytes each time, and what they were told."""

    table: ClassVar = write_killed(CHANNELS["shares"])
    second: ClassVar = ("--role", "shuffler", "--name", "University")
    stores: ClassVar = "helper"

    def __init__(self, leader: Live, helper: Live, path: Path) -> None:
        super().__init__(leader, helper, path)
        self.places = dict[str, OwnPlace]()

    def report(self, place: OwnPlace, random: Random) -> None:
        self.places[place.ticket] = place
        given = self.ask("/pass", {"ticket": place.ticket}, key=None)
        if given.status != 200:
            assert given.code == "late", given
            return
        value = random.randrange(2)
        drawn = draw_bundle(place, value * place.offer.steps)
        body = seal_bundle_report(place, drawn, given.json["shown"]).encode()
        told = ToldReport(place.ticket, 0, sha256(body).hexdigest(), value, "")
        self.write(told)
        said = self.send(body)
        self.write(told._replace(said=said))
        if random.random() < 0.2:
            assert self.send(body) in ("duplicate", "late"), "what was taken was forgotten"

    def send(self, body: bytes) -> str:
        """What the shuffler says of a bundle."""
        for _ in range(TRIES):
            found = self.ask("/bundle", body, key=None, of=self.helper)
            if found.status != 404:  # until the service has told it of the study
                said = str(found.json["status"] if found.status == 200 else found.code)
                assert said in ("stored", "duplicate", "late"), found
                return said
            time.sleep(PAUSE)
        raise AssertionError("the shuffler knows no study")

    def hold(self) -> Any:
        told, sent = self.read(), dict[str, SentBundle]()
        for ticket, place in self.places.items():
            assert place.cohort is not None
            assert place.offer.position is not None
            if ticket in told:
                (each,) = told[ticket]
                taken = each.said in ("stored", "duplicate")
                sent[ticket] = SentBundle(place.cohort, place.offer.position, each.value, taken)
        parts = [(each.address, each.witness) for each in (self.leader, self.helper)]
        return hold_against_both(str(self.table["name"]), sent, self.seen, *parts)


class TossedJournal(ShuffledJournal):
    """The same where devices toss coins."""

    table: ClassVar = write_killed(CHANNELS["coins"])
