"""A shuffler survives that its process ends before and after every statement, COMMIT and write of the witness.

A new process is asked the same again: there is one mix of a cohort, and what was told of it before is told again.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maskedbandit.errors import Late
from maskedbandit.shuffle.envelopes import BundleTerms, seal_envelope
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.study import register_study
from maskedbandit.store.shuffling.session import ShufflerSession
from maskedbandit.store.shuffling.study import ShufflerStudy
from maskedbandit.store.shuffling.verify import verify_shuffling
from maskedbandit.study.mix_statement import MixStatement, digest_people, sign_mix, sign_pass
from maskedbandit.study.protocol import Protocol
from tests.store.databases import fresh_postgresql
from tests.store.helper_scene import N, Operators
from tests.store.test_helping_crash import SEVERAL, Steps, count_files, stepping, try_again

CHANNEL = {"name": "shuffled", "epsilon": 1, "delta": "1/1000", "honest": "1/2", "backend": "shuffler"}


class Told(NamedTuple):
    """What the service was told of a cohort."""

    said: MixStatement
    messages: tuple[bytes, ...]


class Mixing(Operators):
    """The keys of a service and a shuffler, the database of the shuffler, and what devices send."""

    def make_protocol(self, **changes: Any) -> Protocol:
        """A study of these operators."""
        more = {"channel": CHANNEL, "budget": {"epsilon": 1, "delta": "1/1000"}}
        more["reward"] = {"window": "20 seconds", "grace": "5 seconds"}
        return super().make_protocol(**(more | changes))

    def bind(self, cohort: int, place: int) -> BundleTerms:
        """What a bundle is bound to."""
        return BundleTerms(bytes.fromhex(self.protocol.digest), cohort, self.protocol.offers(N)[0].digest, place)

    def seal_all(self) -> list[tuple[Any, ...]]:
        """The bundles of three of four people, as the shuffler gets them."""
        (offer,), channel = self.protocol.offers(N), self.protocol.channel
        found = []
        for place in range(3):
            many = channel.bundle_size(offer.at(place))
            terms = self.bind(0, place)
            sealed = seal_envelope([1] * many, 2, terms, self.leader.seals, self.helper.seals)
            found.append((0, N, place, bytes(8), offer.digest, sign_pass(self.lead.signing_key(), terms), sealed))
        return found


def play(scene: Mixing, sent: list[tuple[Any, ...]], steps: Steps, *, told: list[Told]) -> None:
    """A process takes the bundles and mixes them, and ends at a step; the service may be told."""
    with stepping(scene.address, steps) as database:
        register_study(database, scene.witness, scene.protocol.text, scene.leader.fingerprint, shuffles=True)
        study = ShufflerStudy(database, scene.witness, "small", scene.clock, "tester")
        for done in study.apply([("take_bundle", *each) for each in sent]):
            assert done.refusal is None or isinstance(done.refusal, Late)
        people = bytes(8 * N)
        signature = sign_mix(scene.lead.signing_key(), scene.bind(0, 0).of_cohort, digest_people(people))
        said = study.apply([("mix_cohort", 0, N, people, signature)])[0].value()
        messages = study.apply([("read_messages", 0, 0)])[0].value()
        told.append(Told(said, tuple(messages)))


def read_mix(scene: Mixing) -> str | None:
    """What the ledger says of the mix, if there is one; bundles are stored if there is none, and only then."""
    with closing(open_database(scene.address)) as database:
        found = [each for (each,) in database.rows("SELECT body FROM entry") if '"kind":"mixed"' in each]
        ((bundles,),) = database.rows("SELECT COUNT(*) FROM bundle")
        ((mixed,),) = database.rows("SELECT COUNT(*) FROM mixed")
    assert len(found) <= 1, "a cohort has two mixes"
    assert bundles in ((0,) if found else (0, 3)), "bundles and the mix do not go together"
    assert (mixed > 0) == bool(found), "messages and the mix do not go together"
    return found[0] if found else None


def survives(folder: Path, address: Callable[[], str], every: int = 1) -> list[str]:
    """A process ends before each step and after the last: the steps."""
    for number in count(step=every):
        scene = Mixing(folder / str(number), address())
        sent, told = scene.seal_all(), list[Told]()
        ending = try_again(number, partial(play, scene, sent, told=told), partial(read_mix, scene), told)
        assert told[0].said.reports == 3
        with closing(open_database(scene.address)) as database:
            assert verify_shuffling(database, scene.witness, "small")[2:] == (1, 0)
        if not ending.dead:
            return ending.seen
    raise AssertionError("a process has no end")


def test_a_shuffler_survives_an_end_at_some_steps(tmp_path: Path) -> None:
    survives(tmp_path, count_files(tmp_path), SEVERAL)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_shuffler_survives_an_end_at_every_step(tmp_path: Path, kind: str) -> None:
    steps = survives(tmp_path, count_files(tmp_path) if kind == "sqlite" else fresh_postgresql)
    seen = len(steps) - steps[::-1].index("replace")  # the witness, for the last time: then messages are read
    assert steps[seen - 3 : seen + 1] == ["commit", "fsync", "replace", "fsync"], "a mix was told too early"


@pytest.mark.slow
def test_bundles_that_are_erased_before_the_mix_is_kept_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ShufflerSession.enter

    def enter_late(self: ShufflerSession, by: str = "", /, **says: Any) -> Any:
        if says["kind"] == "mixed":
            self.database.commit()
            self.database.begin()
        return real(self, by, **says)

    monkeypatch.setattr(ShufflerSession, "enter", enter_late)
    with pytest.raises(AssertionError, match=r"do not go together|drawn again|told"):
        survives(tmp_path, count_files(tmp_path))
