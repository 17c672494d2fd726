"""The helper of two servers: one total of a cohort, of the reports that both accepted, with a whole draw of noise."""

from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from maskedbandit.errors import BehindWitness, Disagreement, Forbidden, FrozenProtocol, InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.loss import ZERO
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.prio3 import FIELD, Range
from maskedbandit.secagg.uploads import digest_reports
from maskedbandit.store.book.book import read_published
from maskedbandit.store.book.chain import Head
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping import totals
from maskedbandit.store.helping.book import is_helper
from maskedbandit.store.helping.reports import ReportAnswer
from maskedbandit.store.helping.study import register_study
from maskedbandit.store.lease import read_holder
from maskedbandit.store.writer import Writer
from tests.statistics import same_distribution
from tests.store.helper_scene import Operators, Sent, ask_total, decode, digest_sent, sign_total, take
from tests.store.racers import LATE
from tests.store.small_study import small_protocol

VALUES = {0: 3, 1: 0, 3: 1, 4: 2, 5: 3}  # of a cohort of 7, two of whom never report
EMPTY = digest_reports({})


@pytest.fixture
def operators(tmp_path: Path, address: str) -> Operators:
    """Both operators, with a study that the helper was told of."""
    made = Operators(tmp_path, address)
    made.register()
    return made


@pytest.fixture
def quick(tmp_path: Path) -> Operators:
    """The same with SQLite alone, for what is not about the database."""
    made = Operators(tmp_path, f"sqlite:///{tmp_path}/study.db")
    made.register()
    return made


def known_noise(monkeypatch: pytest.MonkeyPatch, operators: Operators, n: int, seed: int = 7) -> int:
    """The noise of the next total of a cohort of n, which is now known."""
    monkeypatch.setattr(totals, "Bits", lambda: Bits(Random(seed).randbytes))
    noise = DiscreteLaplace(operators.offer(n).steps)  # epsilon is 1
    return noise.noise_share(1, Bits(Random(seed).randbytes))


def test_a_whole_cohort(operators: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    n, sent = 7, operators.send_all(0, VALUES, 7)
    with operators.open() as study:
        answers = take(study, 0, n, sent)
        assert [each.ok for each in answers] == [True] * len(sent)
        for (place, each), answer in zip(sent.items(), answers, strict=True):
            operators.terms(0, n, place).range.check(each.offered.verifier, answer.verifier)
        assert take(study, 0, n, sent) == answers
        assert operators.verify() == (0, 5)
        noise = known_noise(monkeypatch, operators, n)
        said = ask_total(study, 0, n, [], digest_sent(sent))
        assert decode(said, sent) == sum(VALUES.values()) + noise
        said.verify(operators.helper.signs)
        said.match(study="small", protocol=operators.protocol.digest, cohort=0, n=n, reports=5, entry=1)
        said.match(digest=digest_sent(sent), offer=operators.offer(n).digest.hex())
        monkeypatch.undo()
        assert take(study, 0, n, sent) == answers
        assert ask_total(study, 0, n, [], digest_sent(sent)) == said
    with operators.open() as study:  # by another process
        assert ask_total(study, 0, n, [2, 6], digest_sent(sent)).to_text() == said.to_text()
        assert take(study, 0, n, sent) == answers
        later = operators.send_all(1, {0: 1}, 1)
        take(study, 1, 1, later)
        assert ask_total(study, 1, 1, [], digest_sent(later)).entry == 2
    assert operators.verify() == (2, 6)


def test_who_is_left_out_is_not_in_the_total(quick: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = quick.send_all(0, VALUES, 7)
    with quick.open() as study:
        take(study, 0, 7, sent)
        kept = {place: each for place, each in sent.items() if place not in (0, 4)}
        noise = known_noise(monkeypatch, quick, 7)
        said = ask_total(study, 0, 7, [0, 2, 4], digest_sent(kept))
        assert (decode(said, kept), said.reports) == (4 + noise, 3)
    assert quick.verify() == (1, 5)


def forged(operators: Operators, sent: dict[int, Sent]) -> dict[int, Sent]:
    """Reports of which one has another share, one no share at all, and one a proof that does not hold."""
    shares = [each.offered for each in sent.values()]
    places = sorted(sent)
    bad = {
        places[0]: shares[0]._replace(sealed=shares[1].sealed),
        places[1]: shares[1]._replace(sealed=bytes(80)),
        places[2]: shares[2]._replace(verifier=shares[3].verifier),
    }
    return {place: each._replace(offered=bad.get(place, each.offered)) for place, each in sent.items()}


def test_reports_that_do_not_hold_are_not_in_the_total(quick: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = forged(quick, quick.send_all(0, VALUES, 7))
    with quick.open() as study:
        answers = take(study, 0, 7, sent)
        assert [each.ok for each in answers] == [False, False, False, True, True]
        assert [len(each.verifier) for each in answers] == [0, 0, 24, 24, 24]
        assert take(study, 0, 7, sent) == answers
        kept = {place: sent[place] for place in (4, 5)}
        noise = known_noise(monkeypatch, quick, 7)
        assert decode(ask_total(study, 0, 7, [], digest_sent(kept)), kept) == 5 + noise
        assert take(study, 0, 7, sent) == answers
    assert quick.verify() == (1, 5)


def test_a_value_out_of_range_is_not_in_the_total(quick: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device says that one of its bits is 5."""
    with monkeypatch.context() as patch:
        patch.setattr(Range, "encode", lambda self, value: [5, 0])
        sent = quick.send_all(0, {0: 3}, 7)
    with quick.open() as study:
        assert [each.ok for each in take(study, 0, 7, sent)] == [False]
        with pytest.raises(Disagreement):
            ask_total(study, 0, 7, [], digest_sent(sent))
        assert ask_total(study, 0, 7, [], EMPTY).reports == 0


@pytest.mark.slow
@pytest.mark.parametrize("draws", ["whole", "half"])
def test_the_noise_is_one_whole_draw(quick: Operators, monkeypatch: pytest.MonkeyPatch, draws: str) -> None:
    """Cohorts in which nobody reported; a helper that adds half a draw is noticed."""
    random = Random(11)
    monkeypatch.setattr(totals, "Bits", lambda: Bits(random.randbytes))
    if draws == "half":
        real = DiscreteLaplace.noise_share
        monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, n, bits: real(self, 2, bits))
    with quick.open() as study:
        signed = [sign_total(study.protocol, cohort, 7, EMPTY) for cohort in range(800)]
        done = study.apply([("make_total", cohort, 7, [], EMPTY, signed[cohort]) for cohort in range(800)])
    said = [each.value().total for each in done]
    found = [each if each < FIELD // 2 else each - FIELD for each in said]
    if draws == "half":
        with pytest.raises(AssertionError):
            same_distribution(found, lambda z: DiscreteLaplace(3).pmf(np.asarray(z)))
    else:
        same_distribution(found, lambda z: DiscreteLaplace(3).pmf(np.asarray(z)))


def test_each_total_has_fresh_bits(quick: Operators, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Bits]()

    def fresh() -> Bits:
        made.append(Bits())
        return made[-1]

    monkeypatch.setattr(totals, "Bits", fresh)
    with quick.open() as study:
        for cohort in (0, 1, 1, 2):
            ask_total(study, cohort, 7, [], EMPTY)
    assert len(made) == len({*map(id, made)}) == 3


def test_a_study_is_written_down_once(operators: Operators) -> None:
    with operators.open() as study:
        assert (study.state, study.name, study.protocol) == ("running", "small", operators.protocol)
        study.check_leader(operators.leader.fingerprint)
        with pytest.raises(Forbidden, match="led by Clinic"):
            study.check_leader(operators.helper.fingerprint)
        assert is_helper(study.database, operators.witness, "small")
        assert not is_helper(study.database, operators.lead, "small")
        operators.register()  # the same again
    with pytest.raises(FrozenProtocol, match="with another protocol"):
        operators.register(operators.make_protocol(people=999))
    operators.register(operators.make_protocol(name="other", budget={"epsilon": 2}))
    assert operators.verify() == (0, 0)


def test_a_study_of_other_operators_is_not_helped(quick: Operators) -> None:
    database = open_database(quick.address)
    mine, his = quick.leader.fingerprint, quick.helper.fingerprint
    protocol = quick.make_protocol(name="other")
    for old, new in ((his, "ab" * 32), (mine, "ab" * 32)):
        with pytest.raises(Disagreement, match=f"has the fingerprint {new}"):
            register_study(database, quick.witness, protocol.text.replace(old, new), mine)
    with pytest.raises(Disagreement, match="the leader of other has the fingerprint"):  # paired anew since
        register_study(database, quick.witness, protocol.text, "cd" * 32)
    for text in (protocol.text + " ", "{", "[]", "[" * 10**5, small_protocol(name="other").text, '{"name":"other"}'):
        with pytest.raises(InvalidValue):
            register_study(database, quick.witness, text, mine)
    assert database.rows("SELECT study FROM study") == [("small",)]
    database.close()


def test_a_writer_serves_a_helper(quick: Operators) -> None:
    sent = quick.send_all(0, VALUES, 7)
    with quick.open() as study, Writer(study) as writer:
        taken = [writer.submit("take_reports", 0, 7, [each.offered]) for each in sent.values()]
        digest = digest_sent(sent)
        said = writer.submit("make_total", 0, 7, [], digest, sign_total(study.protocol, 0, 7, digest))
        assert all(isinstance(each.result(LATE)[0], ReportAnswer) for each in taken)
        assert said.result(LATE).reports == 5
        with pytest.raises(Disagreement):
            writer.submit("make_total", 0, 7, [], EMPTY, sign_total(study.protocol, 0, 7, EMPTY)).result(LATE)


def test_what_the_witness_has_seen_is_published(quick: Operators) -> None:
    with quick.open() as study, closing(open_database(quick.address)) as reader:
        said = ask_total(study, 0, 7, [], EMPTY)
        found = read_published(reader, quick.witness.as_now(), "small")
        assert [each.kind for each in found.entries] == ["helping", "helped"]
        quick.witness.saw("small", Head(1, found.entries[0].hash), ZERO.to_text())
        assert len(read_published(reader, quick.witness, "small").entries) == 1
        with pytest.raises(BehindWitness):
            study.tick()
        quick.witness.saw("small", found.head, ZERO.to_text())
        study.tick()
        assert ask_total(study, 0, 7, [], EMPTY) == said


def test_the_lease_is_renewed(quick: Operators) -> None:
    with quick.open() as study, closing(open_database(quick.address)) as reader:
        reader.change("UPDATE study SET lease = 1")
        study.tick()
        assert read_holder(reader, "small").lease > 1
