"""Text of a front page log becomes a folder: exactly, whatever its blocks, and nothing irregular goes unseen."""

import errno
import gzip
import json
import random
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, ResultsExist
from maskedbandit.lab.logs import candidates
from maskedbandit.lab.logs import text_conversion as front_page
from maskedbandit.lab.logs.log import Chunk, Log
from maskedbandit.lab.logs.newsroom import Newsroom, write_log
from maskedbandit.lab.logs.recorded_log import RecordedLog
from maskedbandit.lab.logs.text_conversion import convert_logs, describe_conversion
from maskedbandit.lab.logs.text_reader import read_decimal, read_whole_number

USER = "|user 2:0.100000 3:0.200000 4:0.300000 5:0.250000 6:0.150000 1:1.000000"
A = "|11 2:0.5 3:0.1 4:0.2 5:0.1 6:0.1 1:1"
B = "|12 2:0.4 3:0.2 4:0.2 5:0.1 6:0.1 1:1"
C = "|13 2:0.3 3:0.3 4:0.2 5:0.1 6:0.1 1:1"
GOOD = f"100 11 0 {USER} {A} {B}\n101 12 1 {USER} {A} {B}\n"
CLEAN = dict.fromkeys(front_page.KINDS_OF_LINE, 0)


def whole_log(log: Log, seed: int = 0) -> Chunk:
    return Chunk(*(np.concatenate(columns) for columns in zip(*log.chunks(seed), strict=True)))


def assert_same(log: Log, other: Log, seed: int = 0) -> None:
    for name, mine, theirs in zip(Chunk._fields, whole_log(log, seed), whole_log(other), strict=True):
        assert mine.dtype == theirs.dtype, name
        np.testing.assert_array_equal(mine, theirs, name)
    for mine, theirs in zip((*log.pools(), *log.articles()), (*other.pools(), *other.articles()), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (log.d, log.k, log.events, log.least) == (other.d, other.k, other.events, other.least)


def converted(tmp_path: Path, text: str | bytes, **options: int) -> tuple[RecordedLog, dict[str, int]]:
    """A log of this text, and what is irregular in it."""
    data = text.encode() if isinstance(text, str) else text
    (tmp_path / "log.txt").write_bytes(data)
    about = convert_logs([tmp_path / "log.txt"], tmp_path / "log", **options)
    return RecordedLog(tmp_path / "log"), {name: n for name, n in about["irregular"].items() if n}


# --- what is regular ------------------------------------------------------------------------------------------

SMALL = Newsroom(events=2500, seed=3, lifetime=3000)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("text") / "small.txt"
    write_log(SMALL, path, seed=5)
    return path


@pytest.mark.sparing(1)
@pytest.mark.parametrize("block", [500, 1553, 2**22], ids=str)
def test_a_log_comes_back_from_its_text(text, block, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "BLOCK", block)  # lines of 1500 bytes span blocks
    monkeypatch.setattr(front_page, "BYTES_AT_ONCE", 1000)
    about = convert_logs([text], tmp_path / "log")
    assert (about["events"], about["parts"], about["irregular"]) == (2500, 3, CLEAN)
    assert SMALL.k > 25
    found = RecordedLog(tmp_path / "log")
    assert_same(SMALL, found, seed=5)
    write_log(found, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == text.read_bytes()


def test_a_comparison_of_logs_sees_a_click(text, tmp_path) -> None:
    line, rest = text.read_bytes().split(b"\n", 1)
    time, shown, click, tail = line.split(b" ", 3)
    wrong = b" ".join([time, shown, b"1" if click == b"0" else b"0", tail]) + b"\n" + rest
    with pytest.raises(AssertionError, match="click"):
        assert_same(SMALL, converted(tmp_path, wrong)[0], seed=5)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("packed", [97, 2**18], ids=str)
def test_gzip_of_one_member_or_many(text, packed, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "PACKED", packed)
    data = text.read_bytes()
    members = [data[:1], data[1:1_000_000], b"", data[1_000_000:]]
    (tmp_path / "many.gz").write_bytes(b"".join(gzip.compress(each, 1) for each in members) + bytes(100))
    write_log(SMALL, tmp_path / "one.gz", seed=5)
    for name in ("many", "one"):
        convert_logs([tmp_path / f"{name}.gz"], tmp_path / name)
        assert_same(SMALL, RecordedLog(tmp_path / name), seed=5)


def test_files_are_read_one_after_the_other(text, tmp_path) -> None:
    lines = text.read_bytes().splitlines(keepends=True)
    (tmp_path / "a").write_bytes(b"".join(lines[:700]))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"".join(lines[700:])))
    seen: list[int] = []
    about = convert_logs([tmp_path / "a", tmp_path / "b.gz"], tmp_path / "log", advance=seen.append)
    assert about["sources"] == ["a", "b.gz"]
    assert sum(seen) == sum((tmp_path / name).stat().st_size for name in about["sources"])
    assert_same(SMALL, RecordedLog(tmp_path / "log"), seed=5)


def test_the_loop_is_the_same_compiled_and_as_python(tmp_path, monkeypatch) -> None:
    text = GOOD + f"\n7 99 1 |user 6:-0.5 {A}\n103 11 1 |user 6:-0.25 {A}\nx\n104 13 0 {USER} {C}\n9"
    found, counts = converted(tmp_path, text, tolerate=1)
    monkeypatch.setattr(front_page, "compile_loop", lambda function: function)
    (tmp_path / "plain").mkdir()
    plain, same = converted(tmp_path / "plain", text, tolerate=1)
    assert counts == same == {"blank": 1, "absent": 1, "cut": 1, "malformed": 1, "partial": 1}
    assert_same(plain, found)


def test_numbers_are_those_that_python_reads() -> None:
    luck = random.Random(1)
    for _ in range(300):
        said = f"{luck.choice(['', '-'])}{luck.randrange(10 ** luck.randrange(1, 7))}.{luck.randrange(10**9):09d}"
        assert read_decimal(np.frombuffer(f"{said}\n".encode(), np.uint8), 0) == (float(said), len(said))
    for said in ("7", "7.", "0.000000", "123456789012345678"):
        assert read_decimal(np.frombuffer(f"{said} ".encode(), np.uint8), 0) == (float(said), len(said))
    for said in ("", ".5", "-", "nan", "1234567890123456789", "+1"):
        assert read_decimal(np.frombuffer(f"{said} ".encode(), np.uint8), 0)[1] == -1
    for _ in range(300):  # an integer above 2^53 is rounded twice
        said = f"0.{luck.randrange(10**17):017d}"
        found = read_decimal(np.frombuffer(f"{said} ".encode(), np.uint8), 0)[0]
        assert abs(found - float(said)) <= np.spacing(float(said))
    assert read_whole_number(np.frombuffer(b"123456789012345678 ", np.uint8), 0) == (123456789012345678, 18)
    assert read_whole_number(np.frombuffer(b"1234567890123456789 ", np.uint8), 0)[1] == -1


# --- what is irregular, and goes on ---------------------------------------------------------------------------

THIRD = f"102 11 1 {USER} {A} {B}"
ODD = {
    "blank": ("\n  \r\n", 0, 2),
    "absent": (f"102 99 1 {USER} {A} {B}\n", 0, 1),
    "earlier": (f"99 11 1 {USER} {A} {B}\n", 1, 1),
    "partial": (f"102 11 1 |user 1:1 3:1 {A} {B}\n103 11 1 |user {A} {B}\n", 2, 2),
    "twice": (f"102 11 1 {USER} {A} {B} {A}\n", 1, 1),
    "bare": (f"102 11 1 {USER} {A} {B} |109528\n", 1, 1),
    "changed": (f"102 11 1 {USER} {B} {A.replace('0.5', '0.4')}\n", 1, 1),
    "cut": (THIRD[:-3], 0, 1),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_counted(kind, tmp_path) -> None:
    odd, kept, count = ODD[kind]
    last = "" if kind == "cut" else f"{THIRD}\n"
    log, counts = converted(tmp_path, GOOD + odd + last)
    earlier = {"earlier": 1} if kind == "partial" else {}  # the last line is earlier than the odd ones
    assert counts == {kind: count} | earlier
    assert whole_log(log).time.size == log.events == 2 + kept + bool(last)
    assert front_page.KINDS_OF_LINE[kind] in describe_conversion(log.about)


@pytest.mark.parametrize(
    "odd",
    [
        f"{THIRD}  \n",
        f"{THIRD}\r\n",
        f"  {THIRD}\t\n",
        THIRD,
        THIRD.replace(" ", "  ") + "\n",
        THIRD.replace("2:0.100000 3:0.200000", "3:0.2 2:0.1") + "\n",
        THIRD.replace(" |", "\t|") + "\n",
    ],
    ids=["trailing blanks", "CRLF", "blanks around", "no end of line", "two blanks", "another order", "tabs"],
)
def test_what_means_the_same_is_read_the_same(odd, tmp_path) -> None:
    (tmp_path / "plain").mkdir()
    plain, _ = converted(tmp_path / "plain", f"{GOOD}{THIRD}\n")
    found, counts = converted(tmp_path, GOOD + odd)
    assert counts == {}
    assert_same(plain, found)


def test_features_that_are_not_said_are_zero_but_the_constant(tmp_path) -> None:
    log, _ = converted(tmp_path, f"1 109528 0 |user 4:0.25 |109528 {A} |14 3:1\n")
    assert whole_log(log).user.tolist() == [[1, 0, 0, 0.25, 0, 0]]
    ids, features = log.articles()
    assert ids.tolist() == [109528, 11, 14]
    np.testing.assert_allclose(features, [[1, 0, 0, 0, 0, 0], [1, 0.5, 0.1, 0.2, 0.1, 0.1], [1, 0, 1, 0, 0, 0]])
    assert log.about["irregular"]["bare"] == 2


def test_pools_change_and_come_back(tmp_path) -> None:
    pools = [[A, B], [A, B, C], [C], [A, B], [B, A]]
    lines = [f"{t} {pool[0][1:3]} 0 {USER} {' '.join(pool)}\n" for t, pool in enumerate(pools)]
    log, counts = converted(tmp_path, "".join(lines))
    assert counts == {}
    chunk = whole_log(log)
    assert chunk.pool.tolist() == [0, 1, 2, 0, 3]
    assert chunk.arm.tolist() == [0, 0, 2, 0, 1]
    assert chunk.propensity.tolist() == [1 / 2, 1 / 3, 1, 1 / 2, 1 / 2]
    starts, arms = log.pools()
    assert starts.tolist() == [0, 2, 5, 6, 8]
    assert arms.tolist() == [0, 1, 0, 1, 2, 2, 1, 0]
    assert log.least == 1 / 3


@pytest.mark.parametrize("remembered", [0, 2, 25])
def test_texts_of_candidates_are_forgotten_and_their_pools_are_not(remembered, text, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(candidates, "REMEMBERED", remembered)
    convert_logs([text], tmp_path / "log")
    assert_same(SMALL, RecordedLog(tmp_path / "log"), seed=5)


def test_an_article_with_five_features_is_bare(tmp_path) -> None:
    five = A.replace(" 5:0.1", "")
    log, counts = converted(tmp_path, f"1 11 0 {USER} {five} {B}\n2 11 0 {USER} {B} {five}\n")
    assert counts == {"bare": 1}
    np.testing.assert_allclose(log.articles()[1][0], [1, 0.5, 0.1, 0.2, 0, 0.1])


def test_lists_of_known_candidates_are_counted_once_each(tmp_path) -> None:
    lists = [f"{A} {B} {A}", f"{A} {B}", f"{A} {B} {A}", f"{A} {A} {B}", f"{A}{B}"]
    log, counts = converted(tmp_path, "".join(f"{t} 12 0 {USER} {each}\n" for t, each in enumerate(lists)))
    assert counts == {"twice": 2}
    assert whole_log(log).pool.tolist() == [0] * 5


def test_candidates_of_a_malformed_list_are_not_learned(tmp_path) -> None:
    log, counts = converted(tmp_path, f"{GOOD}1 13 0 {USER} {C} |x\n{THIRD}\n", tolerate=1)
    assert (log.k, counts) == (2, {"malformed": 1})


# --- what is malformed ----------------------------------------------------------------------------------------

MALFORMED = {
    "a word for the time": (THIRD.replace("102", "now"), "a whole number of seconds"),
    "an id that is no number": (THIRD.replace("102 11", "102 id-560620"), "the article shown"),
    "a click of two": (THIRD.replace(" 1 |user", " 2 |user"), "0 or 1 for the click"),
    "another user": (THIRD.replace("|user", "|visitor"), "has |user"),
    "no user": (THIRD.replace(USER, ""), "has |user"),
    "a seventh feature": (THIRD.replace("6:0.150000", "7:0.150000"), "user features"),
    "a feature twice": (THIRD.replace("6:0.150000", "5:0.150000"), "user features"),
    "a feature without a value": (THIRD.replace("6:0.150000", "6:"), "user features"),
    "a value that is no number": (THIRD.replace("6:0.150000", "6:nan"), "user features"),
    "an exponent": (THIRD.replace("6:0.150000", "6:1e-05"), "user features"),
    "binary features": (THIRD.replace("6:0.150000", "43"), "user features"),
    "a candidate that is no number": (f"{THIRD} |id-7 1:1", "has candidates"),
    "a candidate's feature twice": (f"{THIRD} |7 1:1 1:1", "has candidates"),
    "a candidate's seventh feature": (f"{THIRD} |7 7:1", "has candidates"),
    "a candidate's value is missing": (f"{THIRD} |7 1:", "has candidates"),
    "a candidate's value is too long": (f"{THIRD} |7 1:{'9' * 400}", "has candidates"),
    "a candidate's value has 19 digits": (f"{THIRD} |7 2:1234567890.123456789", "has candidates"),
    "a user's value has 19 digits": (THIRD.replace("6:0.150000", "6:1234567890.123456789"), "user features"),
    "no candidates": (f"102 11 1 {USER}", "has candidates"),
    "a line cut short within the file": (THIRD[:9], "has |user"),
}


@pytest.mark.sparing(8)
@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_stops_with_file_and_line(name, tmp_path) -> None:
    line, wrong = MALFORMED[name]
    text = f"{GOOD}\n{line}\n{THIRD}\n"
    with pytest.raises(InvalidValue) as error:
        converted(tmp_path, text)
    said = str(error.value)
    assert f"{tmp_path / 'log.txt'}, line 4, is '{line[:20]}" in said
    assert wrong in said
    assert "--tolerate" in said
    assert [path.name for path in tmp_path.iterdir()] == ["log.txt"]  # nothing half-written is left
    log, counts = converted(tmp_path, text, tolerate=1)
    assert counts == {"blank": 1, "malformed": 1}
    assert whole_log(log).time.tolist() == [100, 101, 102]
    with pytest.raises(ResultsExist, match="holds a log already"):
        converted(tmp_path, text, tolerate=1)


def test_more_is_malformed_than_is_tolerated(tmp_path) -> None:
    with pytest.raises(InvalidValue, match="line 5, is 'c'"):
        converted(tmp_path, f"{GOOD}a\nb\nc\n", tolerate=2)


def test_eighteen_digits_are_read_of_users_and_of_candidates(tmp_path) -> None:
    log, _ = converted(tmp_path, "1 7 0 |user 2:-0.12345678901234567 |7 2:-0.12345678901234567 3:123456789012345678.\n")
    assert whole_log(log).user[0, 1] == log.articles()[1][0, 1] == np.float32(-0.12345678901234567)
    assert log.articles()[1][0, 2] == np.float32(123456789012345678)


def test_lines_are_counted_anew_in_every_file(tmp_path) -> None:
    (tmp_path / "a").write_text(GOOD + GOOD)
    (tmp_path / "b").write_text(f"{GOOD}\n{THIRD}\nbad\n")
    with pytest.raises(InvalidValue, match=rf"{tmp_path / 'b'}, line 5, is 'bad'"):
        convert_logs([tmp_path / "a", tmp_path / "b"], tmp_path / "log")


@pytest.mark.parametrize("longest", [500, 2**20])
def test_lines_that_end_with_a_carriage_return_alone(longest, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "LONGEST_LINE", longest)
    with pytest.raises(InvalidValue, match=r"line 1 is '100 11 .*with a carriage return alone"):
        converted(tmp_path, 4 * GOOD.replace("\n", "\r"))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("packed", [1000, 2**18])
def test_what_a_packed_block_holds_before_its_break_is_kept(packed, text, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "PACKED", packed)
    lines = text.read_bytes().splitlines(keepends=True)
    pack = zlib.compressobj(1, wbits=31)
    data = pack.compress(b"".join(lines[:900]) + lines[900][:99]) + pack.flush(zlib.Z_FULL_FLUSH)
    path = tmp_path / "broken.gz"
    path.write_bytes(data + b"\xff" + pack.compress(b"".join(lines[901:])) + pack.flush())  # no block is of kind 3
    with pytest.raises(InvalidValue, match="line 901, is 'broken"):
        convert_logs([path], tmp_path / "log")
    about = convert_logs([path], tmp_path / "log", tolerate=1)
    assert (about["events"], about["irregular"]) == (900, CLEAN | {"malformed": 1})
    for mine, theirs in zip(whole_log(SMALL, 5), whole_log(RecordedLog(tmp_path / "log")), strict=True):
        np.testing.assert_array_equal(mine[:900], theirs)


@pytest.mark.slow
def test_a_gzip_file_that_ends_early_or_is_broken(text, tmp_path) -> None:
    data = gzip.compress(text.read_bytes())
    flipped = bytearray(data)
    flipped[-6] ^= 1  # the checksum
    for name, wrong in {"cut": data[: len(data) // 2], "flipped": bytes(flipped)}.items():
        path = tmp_path / f"{name}.gz"
        path.write_bytes(wrong)
        with pytest.raises(InvalidValue, match=r"line \d+, is 'broken .*get it again"):
            convert_logs([path], tmp_path / name)
        about = convert_logs([path], tmp_path / name, tolerate=1)
        assert 1000 < about["events"] < 1500 if name == "cut" else about["events"] == 2500
        assert about["irregular"] == CLEAN | {"malformed": 1}


def test_what_is_no_log_at_all(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "LONGEST_LINE", 2000)
    with pytest.raises(InvalidValue, match="shorter than 2000 bytes"):
        converted(tmp_path, bytes(5000))
    for text in ("", "\n\n", f"1 99 0 {USER} {A}\n"):
        with pytest.raises(InvalidValue, match="at least one visit"):
            converted(tmp_path, text)
    with pytest.raises(InvalidValue, match="a file that exists"):
        convert_logs([tmp_path / "missing.gz"], tmp_path / "log")
    with pytest.raises(InvalidValue, match="--tolerate"):
        convert_logs([], tmp_path / "log", tolerate=-1)


def test_memory_does_not_grow_with_the_log(text, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(front_page, "BYTES_AT_ONCE", 500)
    monkeypatch.setattr(front_page, "BLOCK", 2**17)
    peaks = []
    for times in (1, 5):
        tracemalloc.start()
        convert_logs([text] * times, tmp_path / str(times))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 10 * 2**20


# --- the folder -----------------------------------------------------------------------------------------------


def test_a_folder_of_other_things_is_left_alone(text, tmp_path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "events-holiday.parquet").write_text("mine")
    (out / "events-00007.parquet").write_text("mine too")
    for folder in (out, text):
        with pytest.raises(InvalidValue, match="--out"):
            convert_logs([text], folder)
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "events-holiday.parquet": "mine",
        "events-00007.parquet": "mine too",
    }


def test_no_link_is_followed(tmp_path) -> None:
    (tmp_path / "few").write_text(GOOD)
    (tmp_path / "mine").write_text("mine")
    planted, folder = tmp_path / "planted", tmp_path / "elsewhere"
    planted.mkdir()
    folder.mkdir()
    (planted / "articles.parquet").symlink_to(tmp_path / "mine")
    (tmp_path / "link").symlink_to(folder)
    for out in (planted, tmp_path / "link"):
        with pytest.raises(InvalidValue, match="it must be a new folder, or an empty one"):
            convert_logs([tmp_path / "few"], out)
    (planted / "articles.parquet").unlink()
    (planted / "log.json.draft").symlink_to(tmp_path / "mine")  # as folders were marked once that were unfinished
    with pytest.raises(InvalidValue, match="--out"):
        convert_logs([tmp_path / "few"], planted)
    assert (tmp_path / "mine").read_text() == "mine"
    assert list(folder.iterdir()) == []
    convert_logs([tmp_path / "few"], folder)  # an empty one is filled
    assert RecordedLog(folder).events == 2


def test_a_disk_that_is_full_leaves_nothing_behind(text, tmp_path, monkeypatch) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["convert", str(text), "--out", str(tmp_path / "log")]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_unpacks_to_very_much_takes_little_memory(tmp_path, monkeypatch) -> None:
    """A gzip file of 64 kB that unpacks to 64 MB, of empty lines or of one line without an end."""
    monkeypatch.setattr(front_page, "BYTES_AT_ONCE", 500)
    monkeypatch.setattr(front_page, "BLOCK", 2**17)
    (tmp_path / "small").write_text(GOOD)
    convert_logs([tmp_path / "small"], tmp_path / "compiled")  # what the compiler takes is another question
    peaks = []
    for byte in (b"\n", b"x"):
        (tmp_path / "bomb.gz").write_bytes(gzip.compress(byte * 2**26 + GOOD.encode(), 9))
        tracemalloc.start()
        if byte == b"\n":
            assert convert_logs([tmp_path / "bomb.gz"], tmp_path / "log")["irregular"]["blank"] == 2**26
        else:
            with pytest.raises(InvalidValue, match="shorter than 1048576 bytes"):
                convert_logs([tmp_path / "bomb.gz"], tmp_path / "other")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 8 * 2**20


@pytest.mark.parametrize(
    ("file", "column", "said"),
    [
        ("events-00000", "arm", "arm in .*events-00000.parquet is 7: it must be a row from 0 to 1"),
        ("events-00000", "pool", "pool in .*events-00000.parquet is 7: it must be a row from 0 to 0"),
        ("pools", "arms", "arms in .*pools.parquet is 7: it must be a row from 0 to 1"),
        ("articles", "id", "articles.parquet is 1: it must be 2 rows"),
    ],
)
def test_rows_that_point_outside_a_table_are_refused(file, column, said, tmp_path) -> None:
    """Compiled loops read where they are told to, and would read whatever memory holds there."""
    log, _ = converted(tmp_path, GOOD)
    path = tmp_path / "log" / f"{file}.parquet"
    table = pl.read_parquet(path)
    outside = pl.lit([0, 7], table[column].dtype) if column == "arms" else pl.lit(7).cast(table[column].dtype)
    (table.head(1) if column == "id" else table.with_columns(outside.alias(column))).write_parquet(path)
    with pytest.raises(InvalidValue, match=said):
        mb.replay(mb.policies.LinUCB(), mb.channels.Raw(), log)


def test_a_file_of_a_log_that_is_damaged_is_named(tmp_path) -> None:
    log, _ = converted(tmp_path, GOOD)
    (tmp_path / "log" / "events-00000.parquet").write_bytes(b"none")
    with pytest.raises(InvalidValue, match=r"events-00000.parquet cannot be read"):
        whole_log(log)
    (tmp_path / "log" / "events-00000.parquet").unlink()
    with pytest.raises(InvalidValue, match=r"events-00000.parquet cannot be read"):
        whole_log(log)


@pytest.mark.parametrize("said", [None, "", "{", "[]", '{"events": 3}', "[" * 100_000], ids=lambda said: str(said)[:9])
def test_a_folder_that_is_no_log_is_refused(said, tmp_path) -> None:
    if said is not None:
        (tmp_path / "log.json").write_text(said)
    with pytest.raises(InvalidValue, match="convert` finished"):
        RecordedLog(tmp_path)


# --- the command line -----------------------------------------------------------------------------------------


def test_generate_and_convert(tmp_path, capsys) -> None:
    for name in ("a.gz", "b.gz", "a.txt"):
        assert main(["generate", "--events", "300", "--seed", "4", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == (tmp_path / "a.txt").read_bytes()
    assert main(["convert", str(tmp_path / "a.gz"), "--out", str(tmp_path / "log")]) == 0
    said = capsys.readouterr().out
    assert "300  events" in said
    assert str(tmp_path / "log") in said
    assert_same(Newsroom(events=300, seed=4), RecordedLog(tmp_path / "log"), seed=4)
    assert json.loads((tmp_path / "log" / "log.json").read_text())["sources"] == ["a.gz"]


def test_commands_that_cannot_be_done_say_why_in_one_line(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text(f"{GOOD}bad\n")
    cases = {
        ("convert",): "at least one file",
        ("convert", "none.gz"): "a file that exists",
        ("convert", "bad.txt"): "bad.txt, line 3, is 'bad'",
        ("convert", "bad.txt", "--out", "."): "--out is '.'",
        ("generate", "--events", "0", "--out", "x"): "events is 0",
        ("generate", "--events", "9", "--out", "bad.txt"): "bad.txt exists already",
    }
    for arguments, reason in cases.items():
        assert main([*arguments]) == 2
        said = [line for line in capsys.readouterr().err.splitlines() if "maskedbandit: " in line]
        assert len(said) == 1
        assert reason in said[0]
    assert main(["convert", "bad.txt", "--tolerate", "1"]) == 0
    assert RecordedLog(Path("data/front_page/log")).events == 2


def test_a_table_is_no_log() -> None:
    """It is refused by its kind, as it may be long."""
    with pytest.raises(
        InvalidValue, match="log is 'ndarray': it must be a folder that `maskedbandit convert` finished"
    ):
        RecordedLog(np.zeros((1000, 3)))
