"""What the leader signs before it is told a total, and how the help of a study ends."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Corrupted, Forged, NotRunning
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping import totals, verify
from maskedbandit.store.helping.book import HelpBook, read_help_book
from maskedbandit.store.traces import Scrubber
from tests.for_each import for_each
from tests.store.helper_scene import HelpedCohorts, N, Operators, ask_total, digest_sent, sign_total

ASKED = TotalRequest(study="small", protocol="00" * 32, cohort=1, n=N, digest="11" * 32)


@pytest.fixture
def helped(tmp_path: Path) -> HelpedCohorts:
    return HelpedCohorts(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))


@for_each(
    "change", [{"study": "other"}, {"protocol": "22" * 32}, {"cohort": 2}, {"n": 5}, {"digest": ""}, {"signature": "x"}]
)
def test_a_signature_holds_for_what_was_asked(change: dict[str, Any]) -> None:
    key = Ed25519PrivateKey.generate()
    signed, signs = ASKED.sign(key), key.public_key().public_bytes_raw()
    signed.verify(signs)
    with pytest.raises(Forged, match=r"total of cohort . of .* is not signed by its leader"):
        replace(signed, **change).verify(signs)


def read_book_of(helped: HelpedCohorts) -> HelpBook:
    with closing(open_database(helped.operators.address)) as database:
        return read_help_book(database, helped.operators.witness, "small")


def refuses_unsigned(helped: HelpedCohorts) -> None:
    """Without the leader's signature no total is made, and none is told that was made before."""
    digests = digest_sent(helped.done), digest_sent(helped.waiting)
    protocol = helped.operators.protocol
    before = read_book_of(helped).head
    with helped.operators.open() as study:
        for cohort, digest in enumerate(digests):
            for signature in ("", "x", "00" * 64, sign_total(protocol, cohort, N + 1, digest)):
                with pytest.raises(Forged):
                    study.make_total(cohort, N, [], digest, signature)
    assert read_book_of(helped).head == before


def test_a_total_is_for_the_leader_alone(helped: HelpedCohorts) -> None:
    refuses_unsigned(helped)
    helped.make_second()
    for cohort, made in read_book_of(helped).made.items():
        assert made.asked == sign_total(helped.operators.protocol, cohort, N, made.digest)


def test_a_helper_that_asks_for_no_signature_is_rejected(
    helped: HelpedCohorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals.TotalRequest, "verify", lambda self, signs: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refuses_unsigned(helped)


def test_a_total_for_which_the_leader_did_not_sign_is_found(helped: HelpedCohorts) -> None:
    book = read_book_of(helped)
    forged = book._replace(made={0: replace(book.made[0], asked="00" * 64)})
    with closing(open_database(helped.operators.address)) as database:
        verify.check_requests(database, book)
        with pytest.raises(Corrupted, match="total of cohort 0 of small is not signed by its leader"):
            verify.check_requests(database, forged)
    helped.change("DELETE FROM pairing")
    with pytest.raises(Corrupted, match="the keys of the leader Clinic are not here"):
        helped.operators.verify()


def test_what_is_sealed_is_erased_when_the_study_has_ended(helped: HelpedCohorts) -> None:
    operators, digest = helped.operators, digest_sent(helped.waiting)
    with operators.open() as study:
        study.close_help()
        study.close_help()
        assert study.state == "stopped"
        with pytest.raises(NotRunning, match="no total is made any more"):
            ask_total(study, 1, N, [], digest)
        with pytest.raises(NotRunning, match="no report is taken any more"):
            study.take_reports(2, N, [operators.send(operators.terms(2, N, 0), 1).offered])
        assert ask_total(study, 0, N, [], digest_sent(helped.done)) == helped.said
        assert [each.ok for each in study.take_reports(1, N, [each.offered for each in helped.waiting.values()])]
    assert [each.kind for each in read_book_of(helped).entries] == ["helping", "helped", "help_closed"]
    with closing(open_database(operators.address)) as database:
        assert database.rows("SELECT COUNT(*) FROM helped_report WHERE locked IS NOT NULL") == [(0,)]
        assert Scrubber().scrub(database)
    files = b"".join(path.read_bytes() for path in operators.folder.glob("study.db*"))
    assert not [each for each in helped.waiting.values() if each.offered.sealed.hex().encode() in files]
    assert operators.verify() == (1, 6)
