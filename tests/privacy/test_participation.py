"""Nobody takes part twice: whoever asks, in however many threads, after whatever crashes. Nothing is random here."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from maskedbandit.errors import AlreadySpent, InvalidValue
from maskedbandit.privacy.participation import Participation
from tests.for_each import for_each
from tests.store.racers import LATE

LONG = "!" + "~" * 127


def spent(book, *asked) -> bool:
    try:
        book.join(*asked)
    except AlreadySpent:
        return True
    return False


@pytest.fixture(params=["memory", "file"])
def opened(request, tmp_path):
    """Opens the book; a book in memory is the same one again, one in a file is closed before."""
    path, books = tmp_path / "book", {}

    def open_book(attempts=1):
        if request.param == "memory":
            return books.setdefault(attempts, Participation(attempts=attempts))
        if "file" in books:
            books["file"].close()
        books["file"] = Participation(path, attempts)
        return books["file"]

    return open_book


class TestJoin:
    def test_one_cohort_and_one_attempt(self, opened):
        book = opened()
        book.join("7", b"monday")
        with pytest.raises(AlreadySpent, match="this user took part in another cohort"):
            book.join("7", b"tuesday")
        with pytest.raises(
            AlreadySpent, match="this user took part in attempt 1 of this cohort, and asks for attempt 1"
        ):
            book.join("7", b"monday")
        with pytest.raises(AlreadySpent):
            book.join("7", b"monday", 2)
        book.join("8", b"tuesday")

    def test_each_attempt_once_and_in_order(self, opened):
        book = opened(attempts=3)
        book.join("7", b"monday", 1)
        assert spent(book, "7", b"monday", 1)
        book.join("7", b"monday", 3)  # the second was one in which it had no part
        assert all(spent(book, "7", b"monday", attempt) for attempt in range(1, 6))
        assert spent(book, "7", b"tuesday", 2)

    def test_attempts_that_there_are_not(self, opened):
        book = opened(attempts=3)
        for attempt in (0, -1):
            with pytest.raises(InvalidValue, match=f"attempt is {attempt}: it must be a whole number of at least 1"):
                book.join("7", b"monday", attempt)
        with pytest.raises(AlreadySpent, match="a cohort has at most 3 attempts, and this would be attempt 4"):
            book.join("7", b"monday", 4)

    def test_a_refusal_writes_nothing(self, opened):
        book = opened(attempts=2)
        assert spent(book, "7", b"tuesday", 3)
        book.join("7", b"monday", 1)
        assert spent(book, "7", b"tuesday", 2)
        book.join("7", b"monday", 2)

    def test_after_a_restart(self, opened):
        opened(attempts=2).join("7", b"monday")
        book = opened(attempts=2)
        assert spent(book, "7", b"tuesday", 2)
        assert spent(book, "7", b"monday", 1)
        book.join("7", b"monday", 2)
        assert spent(opened(attempts=2), "7", b"monday", 2)

    @pytest.mark.parametrize("cohort", [b"", b"\n", b"7 aa 1\n", b"a b", bytes(range(256))])
    def test_cohorts_of_any_name(self, tmp_path, cohort):
        book = Participation(tmp_path / "book")
        book.join(LONG, cohort)
        book.close()
        book = Participation(tmp_path / "book")
        assert spent(book, LONG, cohort)
        assert spent(book, LONG, cohort + b"x")
        book.join("0", cohort)

    @for_each("attempts", [0, -1, 1.0, True, None, "2"])
    def test_attempts_are_a_number(self, attempts):
        with pytest.raises(InvalidValue, match="attempts"):
            Participation(attempts=attempts)


class TestBothSides:
    """The server's book is of all users, a device's of itself: each refuses alone."""

    def test_a_server_that_forgot_meets_devices_that_did_not(self):
        device, server = Participation(), Participation()
        for book in (device, server):
            book.join("7", b"monday")
        server = Participation()
        server.join("7", b"tuesday")
        assert spent(device, "7", b"tuesday")

    def test_a_device_that_forgot_meets_a_server_that_did_not(self):
        server = Participation()
        server.join("7", b"monday")
        device = Participation()
        device.join("7", b"tuesday")
        assert spent(server, "7", b"tuesday")


class TestCrashes:
    def test_between_writing_and_sending_the_user_is_spent(self, tmp_path):
        def send(book):
            book.join("7", b"monday")
            raise KeyboardInterrupt  # the power goes before the value leaves

        book = Participation(tmp_path / "book")
        with pytest.raises(KeyboardInterrupt):
            send(book)
        book.close()
        book = Participation(tmp_path / "book")
        assert spent(book, "7", b"monday")
        assert spent(book, "7", b"tuesday")

    def test_join_returns_after_the_file_is_on_disk(self, tmp_path, monkeypatch):
        order, fsync = [], os.fsync

        def watched(descriptor):
            order.append(os.fstat(descriptor).st_size)
            fsync(descriptor)

        book = Participation(tmp_path / "book")
        monkeypatch.setattr(os, "fsync", watched)
        book.join("7", b"monday")
        assert order[-1] == (tmp_path / "book").stat().st_size > 0

    def test_a_new_file_is_on_disk_with_its_folder(self, tmp_path, monkeypatch):
        """Or a loss of power takes the file, and everybody in it is unspent."""
        folders, fsync = [], os.fsync

        def watched(descriptor):
            fsync(descriptor)
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                folders.append((os.fstat(descriptor).st_ino, (tmp_path / "book").exists()))

        monkeypatch.setattr(os, "fsync", watched)
        book = Participation(tmp_path / "book")
        assert folders == [(tmp_path.stat().st_ino, True)]
        book.join("7", b"monday")
        book.close()
        assert spent(Participation(tmp_path / "book"), "7", b"tuesday")

    @pytest.mark.parametrize("left", range(14))
    def test_a_torn_last_line_is_dropped_for_good(self, tmp_path, left):
        """Its `join` never returned, so nothing was sent; what is written after it is a line of its own."""
        path, line = tmp_path / "book", b"456 646566 12\n"
        book = Participation(path, 20)
        book.join("123", b"abc", 1)
        book.close()
        before = path.read_bytes()
        path.write_bytes(before + line[:left])
        book = Participation(path, 20)
        assert path.read_bytes() == before
        assert spent(book, "123", b"def")
        book.join("456", b"other", 2)
        book.close()
        book = Participation(path, 20)
        assert spent(book, "456", b"def", 12)
        assert spent(book, "123", b"def")

    def test_a_torn_line_is_dropped_from_the_disk_before_the_book_opens(self, tmp_path, monkeypatch):
        path, order, fsync = tmp_path / "book", [], os.fsync
        path.write_bytes(b"123 61 1\n45")

        def watched(descriptor):
            fsync(descriptor)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                order.append(os.fstat(descriptor).st_size)

        monkeypatch.setattr(os, "fsync", watched)
        Participation(path)
        assert order == [len(b"123 61 1\n")]

    @pytest.mark.parametrize(
        "line",
        [
            "x y 61 1",
            "1 6 1",
            "1 61",
            "1 61 1 1",
            "1 61 x",
            "",
            "1 zz 1",
            "\x00",
            "1 61 0",
            "3 6A 1",
            "3 61 +1",
            "é 61 1",
            "1 61 2 ",
            "1 62 2",
            "1 61 1",
            "3 61 1\r",
            "3 61 1\x0b3 61 2",
        ],
    )
    def test_a_damaged_line_is_refused(self, tmp_path, line):
        (tmp_path / "book").write_text(f"1 61 1\n{line}\n2 61 1\n")
        wrongs = []
        for _ in range(2):  # it is not locked by the book that could not be opened, though that may be alive
            with pytest.raises(InvalidValue, match=r"line 2 of .* must be a user, a cohort and an attempt") as caught:
                Participation(tmp_path / "book")
            wrongs.append(caught.value)
            assert not line.strip() or line.strip() not in str(caught.value).split(" must be ")[1]

    def test_a_book_that_fails_to_open_is_not_locked(self, tmp_path, monkeypatch):
        def broken(descriptor):
            raise OSError("no such disk")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", broken)
            with pytest.raises(OSError, match="no such disk") as caught:
                Participation(tmp_path / "book")
        Participation(tmp_path / "book").join("7", b"a")
        assert caught.value.__traceback__ is not None  # whose frames keep the first one alive

    def test_a_write_that_fails_leaves_the_user_spent_and_the_book_closed(self, tmp_path, monkeypatch):
        """What it wrote of a line would be the beginning of the next user's."""
        path = tmp_path / "book"
        book = Participation(path)
        book.join("1", b"a")

        def full(descriptor):
            with path.open("a") as file:
                file.write("7")
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="no space"):
                book.join("5", b"a")
        assert spent(book, "5", b"a")
        with pytest.raises(InvalidValue, match="a write failed"):
            book.join("8", b"a")
        book.close()
        book = Participation(path)
        assert spent(book, "5", b"b")  # the line is whole; what came after it is not, and is dropped
        book.join("7", b"a")


def asked(path, script):
    """What another process prints that has the path of the book as its argument."""
    code = f"import os, sys\nfrom maskedbandit.privacy.participation import Participation\n{script}"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr.strip().split("\n")[-1]


class TestOneOwner:
    """A file is one book's, as long as that is open: whoever else asks, by whatever path."""

    LOCKED = "a file that nothing else has open"

    def test_a_second_book_is_refused_until_the_first_is_closed(self, tmp_path):
        one = Participation(tmp_path / "book")
        for _ in range(2):
            with pytest.raises(InvalidValue, match=self.LOCKED):
                Participation(tmp_path / "book")
        one.join("7", b"monday")
        one.close()
        one.close()
        assert spent(Participation(tmp_path / "book"), "7", b"tuesday")
        with pytest.raises(InvalidValue, match="open: this journal was closed"):
            one.join("8", b"monday")

    def test_a_second_process_is_refused_in_one_line(self, tmp_path):
        book = Participation(tmp_path / "book")
        said = asked(tmp_path / "book", "Participation(sys.argv[1]).join('7', b'monday')")
        assert self.LOCKED in said
        assert "\n" not in said
        book.join("7", b"monday")
        book.close()
        assert "AlreadySpent" in asked(tmp_path / "book", "Participation(sys.argv[1]).join('7', b'tuesday')")

    def test_the_lock_of_a_process_ends_with_it(self, tmp_path):
        script = "book = Participation(sys.argv[1])\nbook.join('7', b'monday')\nos.kill(os.getpid(), 9)"
        asked(tmp_path / "book", script)
        assert spent(Participation(tmp_path / "book"), "7", b"tuesday")

    @pytest.mark.slow
    def test_of_many_processes_that_race_one_gets_a_user(self, tmp_path):
        """Eleven of 150 pairs both did, when the size of the file was looked at and then written."""
        script = """
try:
    Participation(sys.argv[1]).join("7", str(os.getpid()).encode())
    print("in")
except Exception as wrong:
    print(type(wrong).__name__)
sys.stdout.flush()
"""
        with ThreadPoolExecutor(4) as pool:
            answers = [answer.strip() for answer in pool.map(lambda _: asked(tmp_path / "book", script), range(8))]
        assert answers.count("in") == 1
        assert set(answers) <= {"in", "AlreadySpent", "InvalidValue"}

    def test_a_book_is_where_it_was_opened(self, tmp_path, monkeypatch):
        """A relative path after a change of folder made a second book."""
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / "here")
        book = Participation(Path("book"))
        monkeypatch.chdir(tmp_path / "there")
        book.join("7", b"monday")
        assert not (tmp_path / "there" / "book").exists()
        book.close()
        assert spent(Participation(tmp_path / "here" / "book"), "7", b"tuesday")

    @pytest.mark.parametrize("link", [os.symlink, os.link])
    def test_another_name_leads_to_the_same_lock(self, tmp_path, link):
        book = Participation(tmp_path / "book")
        link(tmp_path / "book", tmp_path / "alias")
        with pytest.raises(InvalidValue, match=self.LOCKED):
            Participation(tmp_path / "alias")
        book.join("7", b"monday")

    @pytest.mark.parametrize("change", ["gone", "replaced", "longer", "shorter"])
    def test_a_file_that_others_changed_takes_nobody_in(self, tmp_path, change):
        path = tmp_path / "book"
        book = Participation(path)
        book.join("7", b"monday")
        content = path.read_bytes()
        if change in ("gone", "replaced"):
            path.unlink()
        if change != "gone":
            path.write_bytes({"replaced": content, "longer": content + b"9 61 1\n", "shorter": b""}[change])
        for user in ("8", "9"):
            with pytest.raises(InvalidValue, match="unchanged since it was opened here"):
                book.join(user, b"monday")
        assert not path.exists() or b"8 " not in path.read_bytes()

    @pytest.mark.parametrize("number", ["", "os.getpid = lambda: 1"])
    def test_a_forked_child_has_no_part_in_the_book(self, tmp_path, number):
        """It shares the lock, but not what is in memory; in a container it may also share the number."""
        script = f"""
{number}
book = Participation(sys.argv[1])
child = os.fork()
if child:
    os.waitpid(child, 0)
    book.join("7", b"monday")
    print("parent in")
else:
    try:
        book.join("7", b"tuesday")
    except Exception as wrong:
        print(type(wrong).__name__, flush=True)
    try:
        Participation(sys.argv[1])
    except Exception as wrong:
        print(type(wrong).__name__, flush=True)
"""
        assert asked(tmp_path / "book", script).split("\n")[:3] == ["InvalidValue", "InvalidValue", "parent in"]
        assert spent(Participation(tmp_path / "book"), "7", b"tuesday")

    def test_a_closed_book_is_not_locked_by_a_child_that_lives(self, tmp_path):
        """A fork shares the lock: neither must it keep it, nor give up that of its parent."""
        script = """
def opens():
    try:
        Participation(sys.argv[1]).close()
        return True
    except Exception:
        return False

book = Participation(sys.argv[1])
ended = os.pipe(), os.pipe()
for read, write in ended:
    if os.fork() == 0:
        if write == ended[0][1]:
            book.close()  # as all that ends in a child does
        else:
            os.close(write)
            os.read(read, 1)
        os._exit(0)
os.waitpid(-1, 0)
print(opens())
book.close()
print(opens())
"""
        assert asked(tmp_path / "book", script).split("\n")[:2] == ["False", "True"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((7, b"a"), "user must be a str of 1 to 128 visible ASCII characters"),
        ((float("nan"), b"a"), "user must be a str"),
        (("", b"a"), "user must be a str"),
        (("ann 61", b"a"), "user must be a str"),
        (("ann\n", b"a"), "user must be a str"),
        (("ann", "a"), "cohort is 'str': it must be bytes"),
        (("ann", b"a", "1"), "attempt is '1': it must be a whole number of at least 1"),
        (("ann", b"a", 1.0), r"attempt is 1\.0: it must be a whole number of at least 1"),
        (("ann", b"a", True), "attempt is True: it must be a whole number of at least 1"),
    ],
)
def test_errors_say_plainly_what_is_wrong_and_of_nobody(opened, asked, said):
    book = opened()
    with pytest.raises(InvalidValue, match=said) as caught:
        book.join(*asked)
    assert "ann" not in str(caught.value)
    book.join("ann", b"a")
    with pytest.raises(AlreadySpent) as again:
        book.join("ann", b"b")
    assert "ann" not in str(again.value)


class TestThreads:
    @pytest.mark.parametrize("cohorts", [1, 8])
    def test_one_of_many_wins(self, opened, cohorts):
        book, gate = opened(), Barrier(8, timeout=LATE)

        def ask(number):
            gate.wait()
            return [spent(book, str(user), b"%d" % (number % cohorts)) for user in range(20)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(8)))
        assert all(sum(not each[user] for each in answers) == 1 for user in range(20))

    def test_what_they_wrote_can_be_read(self, tmp_path):
        book = Participation(tmp_path / "book")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda user: book.join(str(user), b"x"), range(60)))
        book.close()
        again = Participation(tmp_path / "book")
        assert all(spent(again, str(user), b"x") for user in range(60))
