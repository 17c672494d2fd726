"""What was given before is known for some months, and by its hash alone."""

from fractions import Fraction

from maskedbandit.client.answers import TURNED_AWAY, Assigned
from maskedbandit.client.places import FORGET_AFTER, KnownArms

ANN = Assigned("bold", {"subject": "HELLO"}, "abc", Fraction(1, 3), offer="an offer")


def test_a_person_is_found_until_long_after_the_last_visit(tmp_path) -> None:
    now = [1000.0]
    known = KnownArms(tmp_path / "known", lambda: now[0])
    known.remember("newsletter", "ann", ANN)
    now[0] += FORGET_AFTER - 1
    assert known.find("newsletter", "ann") == Assigned(
        "bold", {"subject": "HELLO"}, "abc", Fraction(1, 3), True, offer="an offer"
    )
    known.remember("newsletter", "ann", ANN)  # she comes again
    now[0] += FORGET_AFTER - 1
    assert [place.ticket for place in known.places("ann")] == ["abc"]
    now[0] += 2
    assert known.places("ann") == []
    assert known.find("newsletter", "ann") is None
    known.close()
    again = KnownArms(tmp_path / "known", lambda: now[0])
    assert again._rows("SELECT count(*) FROM arm") == [(0,)]
    again.close()


def test_a_person_who_comes_often_is_written_down_once(tmp_path) -> None:
    known = KnownArms(tmp_path / "known", lambda: 1000.0)
    known.remember("newsletter", "ann", ANN)
    before = known._rows("PRAGMA data_version")
    total = known._file._connection.total_changes
    known.remember("newsletter", "ann", ANN)
    assert known._file._connection.total_changes == total
    assert known._rows("PRAGMA data_version") == before
    known.close()


def test_the_file_lists_no_names(tmp_path) -> None:
    known = KnownArms(tmp_path / "known")
    known.remember("newsletter", "ann@example.org", ANN)
    known.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"example.org" not in content
    assert b"bold" in content


def test_that_somebody_was_turned_away_is_not_remembered_but_the_default_arm_is(tmp_path) -> None:
    """Whoever is not known may be one whom the rules turn away: so the default, and not what others are served."""
    known = KnownArms(tmp_path / "known")
    known.remember("newsletter", "bob", Assigned("best", why="budget_exceeded", propensity=Fraction(1)))
    assert known.served("newsletter").arm == "best"
    for why in TURNED_AWAY:
        known.remember("newsletter", "eve", Assigned("plain", why=why, propensity=Fraction(1)))
        assert known.find("newsletter", "eve") is None
    known.remember("newsletter", "bob", Assigned("best", why="finished", propensity=Fraction(1)))
    assert known.served("newsletter").arm == "plain"
    assert known.served("another") is None
    known.remember("newsletter", "eve", ANN)  # she became eligible
    assert known.find("newsletter", "eve").ticket == "abc"
    assert [place.ticket for place in known.places("eve")] == ["abc"]
    known.close()
