"""Nobody takes part twice: whoever asks, in however many threads, after whatever crashes. Nothing is random here."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from maskedbandit.errors import AlreadySpent, InvalidValue
from maskedbandit.privacy.participation import Participation


def spent(book, *asked) -> bool:
    try:
        book.join(*asked)
    except AlreadySpent:
        return True
    return False


@pytest.fixture(params=["memory", "file"])
def opened(request, tmp_path):
    """Opens the book; a book in memory is the same one again."""
    path, books = tmp_path / "book", {}

    def open_book(attempts=1):
        if request.param == "memory":
            return books.setdefault(attempts, Participation(attempts=attempts))
        return Participation(path, attempts)

    return open_book


class TestJoin:
    def test_one_cohort_and_one_attempt(self, opened):
        book = opened()
        book.join(7, b"monday")
        with pytest.raises(AlreadySpent, match="user 7 took part in another cohort"):
            book.join(7, b"tuesday")
        with pytest.raises(AlreadySpent, match="user 7 took part in attempt 1 of 1 of this cohort"):
            book.join(7, b"monday")
        with pytest.raises(AlreadySpent):
            book.join(7, b"monday", 2)
        book.join(8, b"tuesday")

    def test_each_attempt_once_and_in_order(self, opened):
        book = opened(attempts=3)
        book.join(7, b"monday", 1)
        assert spent(book, 7, b"monday", 1)
        book.join(7, b"monday", 3)  # the second was one in which it had no part
        assert all(spent(book, 7, b"monday", attempt) for attempt in range(6))
        assert spent(book, 7, b"tuesday", 2)

    @pytest.mark.parametrize("attempt", [0, -1, 4])
    def test_attempts_that_there_are_not(self, opened, attempt):
        assert spent(opened(attempts=3), 7, b"monday", attempt)

    def test_a_refusal_writes_nothing(self, opened):
        book = opened(attempts=2)
        assert spent(book, 7, b"tuesday", 3)
        book.join(7, b"monday", 1)
        assert spent(book, 7, b"tuesday", 2)
        book.join(7, b"monday", 2)

    def test_after_a_restart(self, opened):
        opened(attempts=2).join(7, b"monday")
        book = opened(attempts=2)
        assert spent(book, 7, b"tuesday", 2)
        assert spent(book, 7, b"monday", 1)
        book.join(7, b"monday", 2)
        assert spent(opened(attempts=2), 7, b"monday", 2)

    @pytest.mark.parametrize("cohort", [b"", b"\n", b"7 aa 1\n", b"a b", bytes(range(256))])
    def test_cohorts_of_any_name(self, tmp_path, cohort):
        Participation(tmp_path / "book").join(2**64 - 1, cohort)
        book = Participation(tmp_path / "book")
        assert spent(book, 2**64 - 1, cohort)
        assert spent(book, 2**64 - 1, cohort + b"x")
        book.join(0, cohort)

    @pytest.mark.parametrize("attempts", [0, -1, 1.0, True, None, "2"])
    def test_attempts_are_a_number(self, attempts):
        with pytest.raises(InvalidValue, match="attempts"):
            Participation(attempts=attempts)


class TestBothSides:
    """The server's book is of all users, a device's of itself: each refuses alone."""

    def test_a_server_that_forgot_meets_devices_that_did_not(self):
        device, server = Participation(), Participation()
        for book in (device, server):
            book.join(7, b"monday")
        server = Participation()
        server.join(7, b"tuesday")
        assert spent(device, 7, b"tuesday")

    def test_a_device_that_forgot_meets_a_server_that_did_not(self):
        server = Participation()
        server.join(7, b"monday")
        device = Participation()
        device.join(7, b"tuesday")
        assert spent(server, 7, b"tuesday")


class TestCrashes:
    def test_between_writing_and_sending_the_user_is_spent(self, tmp_path):
        def send(book):
            book.join(7, b"monday")
            raise KeyboardInterrupt  # the power goes before the value leaves

        with pytest.raises(KeyboardInterrupt):
            send(Participation(tmp_path / "book"))
        book = Participation(tmp_path / "book")
        assert spent(book, 7, b"monday")
        assert spent(book, 7, b"tuesday")

    def test_join_returns_after_the_file_is_on_disk(self, tmp_path, monkeypatch):
        order, fsync = [], os.fsync

        def watched(descriptor):
            order.append(os.fstat(descriptor).st_size)
            fsync(descriptor)

        book = Participation(tmp_path / "book")
        monkeypatch.setattr(os, "fsync", watched)
        book.join(7, b"monday")
        assert order[-1] == (tmp_path / "book").stat().st_size > 0

    def test_a_new_file_is_on_disk_with_its_folder(self, tmp_path, monkeypatch):
        """Or a loss of power takes the file, and everybody in it is unspent; an old one is there already."""
        folders, fsync = [], os.fsync

        def watched(descriptor):
            fsync(descriptor)
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                folders.append((os.fstat(descriptor).st_ino, (tmp_path / "book").exists()))

        monkeypatch.setattr(os, "fsync", watched)
        Participation(tmp_path / "book").join(7, b"monday")
        assert folders == ([(tmp_path.stat().st_ino, True)] if os.name == "posix" else [])
        assert spent(Participation(tmp_path / "book"), 7, b"tuesday")
        assert len(folders) <= 1

    @pytest.mark.parametrize("left", range(1, 16))
    def test_a_torn_last_line_is_refused(self, tmp_path, left):
        """Never as unspent: who wrote it cannot always be told, so nobody joins until a person has looked."""
        path = tmp_path / "book"
        Participation(path, 20).join(123, b"abc", 1)
        whole = path.read_bytes()
        Participation(path, 20).join(456, b"def", 12)
        torn = path.read_bytes()[: len(whole) + left]
        if torn == path.read_bytes():
            return
        path.write_bytes(torn)
        with pytest.raises(InvalidValue, match="line 2 of"):
            Participation(path, 20)

    @pytest.mark.parametrize("line", ["x 61 1", "1 6 1", "1 61", "1 61 1 1", "1 61 x", "", "1 zz 1", "\x00"])
    def test_a_damaged_line_is_refused(self, tmp_path, line):
        (tmp_path / "book").write_text(f"1 61 1\n{line}\n2 61 1\n")
        with pytest.raises(InvalidValue, match="line 2 of"):
            Participation(tmp_path / "book")

    def test_a_write_that_fails_leaves_the_user_spent_and_the_book_closed(self, tmp_path, monkeypatch):
        """What it wrote of a line would be the beginning of the next user's."""
        path = tmp_path / "book"
        book = Participation(path)
        book.join(1, b"a")

        def full(descriptor):
            with path.open("a") as file:
                file.write("7")
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="no space"):
                book.join(5, b"a")
        assert spent(book, 5, b"a")
        with pytest.raises(InvalidValue, match="book"):
            book.join(8, b"a")
        with pytest.raises(InvalidValue, match="line 3 of"):  # the second is that of user 5, and whole
            Participation(path)

    def test_a_second_process_is_noticed(self, tmp_path):
        """Two books of one file know nothing of each other, so the one that comes late refuses."""
        one, other = (Participation(tmp_path / "book") for _ in range(2))
        one.join(7, b"monday")
        with pytest.raises(InvalidValue, match="book"):
            other.join(7, b"tuesday")
        one.join(8, b"monday")


class TestThreads:
    @pytest.mark.parametrize("cohorts", [1, 8])
    def test_one_of_many_wins(self, opened, cohorts):
        book, gate = opened(), Barrier(8)

        def ask(number):
            gate.wait()
            return [spent(book, user, b"%d" % (number % cohorts)) for user in range(20)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(8)))
        assert all(sum(not each[user] for each in answers) == 1 for user in range(20))

    def test_what_they_wrote_can_be_read(self, tmp_path):
        book = Participation(tmp_path / "book")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda user: book.join(user, b"x"), range(60)))
        again = Participation(tmp_path / "book")
        assert all(spent(again, user, b"x") for user in range(60))
