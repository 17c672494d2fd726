"""What a coordinator that lies may send to a site over HTTP, phase by phase: the site refuses it, by name, in its log.

The site of each attack is a copy of one that has come that far in an honest round of four sites, one of which may be
lost. A site that refuses leaves the attempt with an empty message, and holds no secret of it any more.
"""

import json
import shutil
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.secagg import masks
from maskedbandit.secagg.graph import MerkleTree, Ring
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import PARCEL, SIGNATURE, SURVIVORS, VOTES, pack_flags, pack_message, pack_present
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.pairing import read_pairings
from tests.secagg.lies import flipped
from tests.service.sites_inside import SiteInside, SitesInside, wait_for_links
from tests.store.small_study import Clock

SITES, HEAD = 4, 2 + KEY  # version, kind, session
TABLE: dict[str, Any] = {
    "channel": {"name": "distributed", "epsilon": 1, "honest": "1/2", "backend": {"name": "sites", "lost": 1}}
}
Due = dict[str, Any]


class LyingCoordinator(httpx.AsyncBaseTransport):
    """Answers a site in place of its coordinator: each time what is to be said next; it keeps what the site answers."""

    def __init__(self) -> None:
        self.due, self.answers = list[list[Due]](), list[dict[str, Any]]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What the coordinator says."""
        asked = json.loads(await request.aread())
        self.answers += asked["answers"]
        due = self.due.pop(0) if self.due else []
        return httpx.Response(200, json={"state": "running", "due": due, "sites": asked["confirmed"], "first": 0})


class CopiedSite:
    """A copy of a site, which is lied to."""

    def __init__(self, folder: Path, now: int) -> None:
        self.wire, clock = LyingCoordinator(), Clock()
        clock.now = now
        self.site = SiteInside(self.wire, f"sqlite:///{folder}.db", folder, clock)
        self.site.run(wait_for_links(self.site.host))

    def tell(self, due: list[Due]) -> list[dict[str, Any]]:
        """What it answers that is told this, which it says at its next turn."""
        self.wire.due, self.wire.answers = [due], []
        for _ in range(2):
            self.site.tick()
            self.site.run(wait_for_links(self.site.host))
        return self.wire.answers

    def close(self) -> None:
        """End it."""
        self.site.close()


class HonestRound:
    """A round that has come to a phase, in which site 0 was told nothing yet; copies of it are lied to."""

    def __init__(self, folder: Path, phase: int) -> None:
        self.folder, self.phase, self.copies = folder, phase, 0
        self.all = SitesInside(folder, SITES, **TABLE)
        self.all.fill()
        self.all.clock.now += 21_000
        with closing(open_database(self.all.addresses[0])) as database:
            self.credential = read_pairings(database)[-1].credential
        self.all.coordinator.tick(1)
        while self.told[0]["phase"] < phase:
            for site in self.all.sites:  # site 0 first: whoever ends the phase is told of the next one
                for _ in range(2):  # it is told, and answers
                    site.tick()
                    site.run(wait_for_links(site.host))
        assert self.told[0]["phase"] == phase
        self.due, self.other = self.told
        for site in self.all.sites:  # so that copies may hold what they held
            site.close()
        self.all.sites.clear()

    @property
    def told(self) -> list[Due]:
        """What site 0 is told in truth, of both cohorts."""
        path = "/v1/studies/small/site/rounds"
        found: list[Due] = self.all.coordinator.ask("POST", path, {"answers": []}, self.credential).json["due"]
        return found

    def sent(self, phase: int, cohort: int = 0) -> dict[int, bytes]:
        """What each site sent in a phase of a cohort's round."""
        found = dict[int, bytes]()
        for passed in self.all.passed:
            for each in json.loads(passed.sent)["answers"] if passed.path.endswith("rounds") else ():
                if (each["phase"], each["cohort"]) == (phase, cohort):
                    found[int(passed.site[4:])] = urlsafe_b64decode(each["message"])
        return found

    def ring(self) -> Ring:
        """In which order each site is told of the others."""
        for passed in self.all.passed:
            for each in json.loads(passed.answered)["due"] if passed.path.endswith("rounds") else ():
                if (each["phase"], each["cohort"]) == (1, 0):
                    return draw_ring(urlsafe_b64decode(each["message"])[HEAD : HEAD + 2 * KEY])
        raise AssertionError("no keys were told yet")

    def copy(self, number: int = 0) -> CopiedSite:
        """A site with all that this one has, and who lies to it."""
        self.copies += 1
        folder, name = self.folder / f"copy{self.copies}", f"site{number}"
        shutil.copytree(self.all.folders[number], folder)
        for each in self.folder.glob(f"{name}.db*"):
            shutil.copy(each, self.folder / each.name.replace(name, folder.name))
        return CopiedSite(folder, self.all.clock.now)

    def tell(self, *due: list[Due]) -> list[dict[str, Any]]:
        """What site 0 answers that is told this, at one turn of its clock after the other."""
        with closing(self.copy()) as copied:
            return [answer for each in due for answer in copied.tell(each)]

    @property
    def message(self) -> bytes:
        """What site 0 is told in truth."""
        return urlsafe_b64decode(self.due["message"])

    def lie(self, message: bytes) -> Due:
        """The same with another message."""
        return self.due | {"message": urlsafe_b64encode(message).decode()}


def other_terms(**changed: Any) -> Callable[[HonestRound], Due]:
    """Other terms of the round."""
    return lambda it: it.due | {name: value(it.due[name]) for name, value in changed.items()}


def moved(weights: list[int], *more: int) -> list[int]:
    """So many more people of each site."""
    return [many + by for many, by in zip(weights, more, strict=True)]


def with_keys(site: int, make: Callable[[dict[int, bytes]], bytes]) -> Callable[[HonestRound], Due]:
    """The keys of a site are others, in the list and in the tree that commits to it."""

    def lie(it: HonestRound) -> Due:
        keys = {each: message[HEAD:] for each, message in it.sent(0).items()}
        keys[site] = make(keys)
        tree = MerkleTree([masks.user_bytes(each) + keys[each] for each in range(SITES)])
        seed = it.message[HEAD : HEAD + KEY]
        around = draw_ring(seed + tree.root).around(0)
        told = pack_present([keys[each] for each in around])
        return it.lie(it.message[:HEAD] + seed + tree.root + told + b"".join(tree.proof(range(SITES))))

    return lie


def draw_ring(seed_and_root: bytes) -> Ring:
    """The ring on which sites find one another, as they draw it."""
    return Ring(sha256(b"maskedbandit ring" + seed_and_root).digest(), tuple(range(SITES)), SITES - 1)


def survivors(*sites: int) -> Callable[[HonestRound], Due]:
    """This is the list of sites in the sum."""

    def lie(it: HonestRound) -> Due:
        flags = pack_flags(sum(1 << site for site in sites), SITES)
        return it.lie(pack_message(SURVIVORS, it.message[2:HEAD], flags))

    return lie


def cut(message: bytes, size: int) -> bytes:
    """The same of which only the first of three pieces of this size is there."""
    return message[:HEAD] + b"\1" + message[HEAD + 1 : HEAD + 1 + size]


def stranger(keys: dict[int, bytes]) -> bytes:
    """Keys of somebody whom the coordinator made up, with a signature of the site."""
    made = [masks.seed_key_pair(bytes([i] * 16), b"", b"")[1] for i in range(2)]
    return b"".join(made) + keys[1][2 * KEY :]


def from_other_cohort(it: HonestRound) -> Due:
    """The message of another cohort's round."""
    return it.due | {"message": it.other["message"]}


ATTACKS: list[tuple[int, str, Callable[[HonestRound], Due], str]] = [  # phase, what, the lie, the name of the refusal
    (0, "fewer people of this site", other_terms(weights=lambda w: moved(w, -1, 1, 0, 0)), "disagreement"),
    (0, "more people of this site", other_terms(weights=lambda w: moved(w, 1, -1, 0, 0)), "disagreement"),
    (0, "more people than places", other_terms(weights=lambda w: moved(w, 0, 1, 0, 0)), "disagreement"),
    (0, "sites above their shares", other_terms(weights=lambda w: [w[0], sum(w) - w[0], 0, 0]), "disagreement"),
    (0, "sites made up", other_terms(weights=lambda w: [*w, 0]), "disagreement"),
    (0, "another size of the cohort", other_terms(n=lambda n: n + 1), "disagreement"),
    (0, "one attempt too many", other_terms(attempt=lambda attempt: attempt + 1), "out_of_turn"),
    (0, "somebody twice", other_terms(tickets=lambda own: [own[0], *own[:-1]]), "disagreement"),
    (0, "somebody left out", other_terms(tickets=lambda own: own[1:]), "disagreement"),
    (0, "somebody of another cohort", lambda it: it.due | {"tickets": it.other["tickets"]}, "disagreement"),
    (0, "a later phase", other_terms(phase=lambda phase: 2), "out_of_turn"),
    (1, "a message of another cohort", from_other_cohort, "out_of_turn"),
    (1, "another ring", lambda it: it.lie(flipped(it.message, HEAD)), "disagreement"),
    (1, "keys that do not fit the tree", lambda it: it.lie(flipped(it.message, HEAD + 2 * KEY + 9)), "disagreement"),
    (1, "a Sybil in place of a site", with_keys(1, stranger), "forged"),
    (1, "other keys in the name of this site", with_keys(0, stranger), "disagreement"),
    (1, "two sites with the same keys", with_keys(1, lambda keys: keys[2]), "disagreement"),
    (1, "a key of low order", with_keys(1, lambda keys: bytes(KEY) + keys[1][KEY:]), "forged"),
    (1, "one other site alone", lambda it: it.lie(cut(it.message, 0)), "malformed"),
    (1, "a message that was cut", lambda it: it.lie(it.message[:-1]), "malformed"),
    (1, "other weights than before", other_terms(weights=lambda w: moved(w, 0, 1, -1, 0)), "disagreement"),
    (1, "another ring than before", other_terms(ring=lambda ring: "00" * KEY), "disagreement"),
    (2, "a sealed key share that was altered", lambda it: it.lie(flipped(it.message, HEAD + 9)), "forged"),
    (2, "a message of another cohort", from_other_cohort, "out_of_turn"),
    (2, "key shares of one other site alone", lambda it: it.lie(cut(it.message, PARCEL)), "too_few"),
    (2, "what was told before", lambda it: it.due | {"phase": 1}, "out_of_turn"),
    (3, "a list without this site", survivors(1, 2, 3), "disagreement"),
    (3, "a list of two sites", survivors(0, 1), "too_few"),
    (3, "a list of this site alone", survivors(0), "too_few"),
    (3, "a message of another cohort", from_other_cohort, "out_of_turn"),
    (4, "the signature of one other site alone", lambda it: it.lie(cut(it.message, SIGNATURE)), "too_few"),
    (4, "a signature that was altered", lambda it: it.lie(flipped(it.message, HEAD + 9)), "forged"),
    (4, "a message of another cohort", from_other_cohort, "out_of_turn"),
    (4, "the list once more", lambda it: it.due | {"phase": 3}, "out_of_turn"),
]


@pytest.fixture(scope="module", params=range(5))
def it(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HonestRound]:
    made = HonestRound(tmp_path_factory.mktemp("round"), request.param)
    yield made
    made.all.close()


def whys(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Why sites left rounds, as their logs say."""
    return [vars(each)["why"] for each in caplog.records if "leaves" in each.getMessage()]


@pytest.mark.slow
def test_each_lie_is_refused_by_name(it: HonestRound, caplog: pytest.LogCaptureFixture) -> None:
    for phase, what, lie, why in ATTACKS:
        if phase != it.phase:
            continue
        caplog.clear()
        (answer,) = it.tell([lie(it)])
        assert (what, answer["message"], whys(caplog)) == (what, "", [why])


@pytest.mark.slow
def test_the_truth_is_answered_and_nothing_else_afterwards(it: HonestRound, caplog: pytest.LogCaptureFixture) -> None:
    """The same again is answered with the same bytes; what is asked otherwise, by nothing."""
    other = it.lie(it.message + b"x")
    first, again, lied, last = it.tell([it.due], [it.due], [other], [it.due])
    assert first["message"] != ""
    assert first == again == last
    assert lied["message"] == ""
    assert whys(caplog) == ["out_of_turn"]


@pytest.mark.slow
def test_two_stories_of_who_is_in_the_sum(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Sites 2 and 3 hear that all are in the sum, and the others that site 3 is lost: nobody opens a key share.

    With both sums the coordinator would have had the value of site 3.
    """
    it = HonestRound(tmp_path, 3)
    stories = {0: (0, 1, 2), 1: (0, 1, 2), 2: (0, 1, 2, 3), 3: (0, 1, 2, 3)}
    copies = {number: it.copy(number) for number in stories}
    votes = {}
    for number, story in stories.items():
        (answer,) = copies[number].tell([survivors(*story)(it)])
        votes[number] = urlsafe_b64decode(answer["message"])[HEAD:]
        assert votes[number]
    for number, story in stories.items():
        same = [each for each in stories if stories[each] == story]
        for signers, why in ((same, "too_few"), (stories, "forged")):
            told = pack_present([votes[each] if each in signers else None for each in it.ring().around(number)])
            message = pack_message(VOTES, it.message[2:HEAD], told)
            with closing(it.copy(number)) as copied:
                copied.tell([survivors(*story)(it)])
                caplog.clear()
                (answer,) = copied.tell([it.lie(message) | {"phase": 4}])
                assert (answer["message"], whys(caplog)) == ("", [why])
    for each in copies.values():
        each.close()
    it.all.close()


@pytest.mark.slow
def test_a_site_that_believes_all_signatures_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: it opens its key shares whatever the others have signed."""
    it = HonestRound(tmp_path, 4)
    monkeypatch.setattr("maskedbandit.secagg.client.verify_signature", lambda *given: None)
    (answer,) = it.tell([it.lie(flipped(it.message, HEAD + 9))])
    assert answer["message"] != ""
    it.all.close()
