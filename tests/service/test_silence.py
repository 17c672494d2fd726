"""A database that says nothing any more: nobody waits for long, and the study heals when it speaks again."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from time import monotonic
from typing import Any

import pytest

from maskedbandit.errors import StorageFailed
from maskedbandit.service.host import elsewhere, hosting, questions
from maskedbandit.store.databases import postgresql
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.databases.postgresql import NETWORK, Postgresql
from tests.service.inside import Inside, inside
from tests.service.live import LATE
from tests.service.swallowing_proxy import SwallowingProxy, swallowing_proxy
from tests.store.databases import fresh_postgresql, socket_of, through
from tests.store.small_study import PROOF

REAL, SOON = questions.QUESTION_PATIENCE, 0.5  # seconds; the second in place of the first
COMMITTED = b"C\0\0\0\x0bCOMMIT\0"  # what the server says of it
ASKED = [  # by many at once: the thread that writes, those that read, and one that opens a study
    *[("POST", "/v1/studies/small/assign", {"unit": f"person {number}"}) for number in range(600)],
    *[("GET", path, None, "officer") for path in ("/v1/studies", "/v1/studies/small/results") * 10],
    *[("POST", "/v1/studies/other/assign", {"unit": f"person {number}"}) for number in range(3)],
]


@pytest.fixture
def proxy() -> Iterator[SwallowingProxy]:
    with swallowing_proxy(socket_of(fresh_postgresql())) as made:
        yield made


@pytest.fixture
def proxied(proxy: SwallowingProxy) -> str:
    """An empty database behind the proxy."""
    return through(fresh_postgresql(), proxy.port)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (questions, hosting):
        monkeypatch.setattr(module, "QUESTION_PATIENCE", SOON)


def test_a_request_takes_less_than_ten_seconds() -> None:
    """It waits for one statement, or for one attempt to connect, and who waits behind it is told the same."""
    assert REAL < elsewhere.RELAY_PATIENCE < 10
    assert NETWORK["connect_timeout"] < 10
    assert NETWORK["tcp_user_timeout"] < 10_000


def told(database: Database, way: str) -> None:
    """Tell it something, in this way."""
    many = [(number,) for number in range(1000)]
    if way == "rows":
        database.rows("SELECT n FROM one")
    elif way == "each":
        database.each("UPDATE one SET n = ?", many)
    elif way == "commit":
        database.commit()
    else:
        getattr(database, way)("one", "n", many)


@pytest.mark.slow
@pytest.mark.parametrize("swallowed", [("requests",), ("answers",), ()])
def test_whatever_a_database_is_told_is_given_up(
    proxy: SwallowingProxy, proxied: str, swallowed: tuple[str, ...]
) -> None:
    for way in ("rows", "each", "insert", "insert_missing", "commit"):
        database = open_database(proxied, patience=SOON)
        database.change("CREATE TABLE IF NOT EXISTS one (n BIGINT)")
        database.begin()
        proxy.swallow(*swallowed)
        with pytest.raises(StorageFailed, match=f"the server said nothing for {SOON} seconds"):
            told(database, way)
        proxy.heal()
        database.begin()  # on another connection
        assert database.rows("SELECT COUNT(*) FROM one") == [(0,)]
        database.rollback()
        database.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["rows", "each", "insert", "insert_missing", "commit"])
def test_whoever_was_cut_off_keeps_no_rows(
    proxy: SwallowingProxy, proxied: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Whatever it was told last: whoever comes next ends what the server has of it."""
    monkeypatch.setattr(postgresql, "LEASE_LENGTH", 1000)
    database = open_database(proxied, patience=SOON)
    database.change("CREATE TABLE one (n BIGINT)")
    database.insert("one", "n", [(7,)])
    database.begin()
    database.change("UPDATE one SET n = 8")
    proxy.swallow("answers")
    with pytest.raises(StorageFailed):
        told(database, way)
    proxy.heal()
    database.close()
    other = open_database(proxied)
    other.change("SET statement_timeout = '20s'")  # a server that keeps the row fails the test, and does not stop it
    assert other.change("UPDATE one SET n = n + 1") >= 1
    other.close()


def leave_in_the_middle(address: str, way: str) -> Postgresql:
    """A process that changed a row was stopped within a statement, or between two that are sent together."""
    import psycopg

    made = Postgresql(address, patience=60)
    made.change("CREATE TABLE IF NOT EXISTS one AS SELECT 1 AS n")
    made.begin()
    made.change("UPDATE one SET n = 2")
    line = made._connection.pgconn
    if way == "copy":
        line.send_query(b"COPY one FROM STDIN")
    else:
        line.enter_pipeline_mode()
        line.send_query_params(b"UPDATE one SET n = 3", None)
        line.send_flush_request()
    line.flush()
    silent = "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %s AND (state, wait_event) = ('active', 'ClientRead')"
    with psycopg.connect(address, autocommit=True) as looking:
        assert any(looking.execute(silent, [line.backend_pid]).fetchone() == (1,) for _ in range(30_000))
    return made


def change_soon(address: str, seconds: int = 2) -> None:
    """Change the row, or raise `Again` if somebody keeps it."""
    with closing(Postgresql(address, patience=60)) as other:
        other.change(f"SET lock_timeout = '{seconds}s'")
        assert other.change("UPDATE one SET n = 4") == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["copy", "pipeline"])
def test_whoever_is_stopped_keeps_no_rows(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has no limit here by itself: it was told one second, and keeps the row for two, as the twin shows."""
    address = fresh_postgresql()
    monkeypatch.setattr(postgresql, "LEASE_LENGTH", 1000)
    with closing(leave_in_the_middle(address, way)):
        monkeypatch.setattr(postgresql, "LEASE_LENGTH", 15_000)
        with pytest.raises(Again):
            change_soon(address)  # it may go on yet
        monkeypatch.setattr(postgresql, "LEASE_LENGTH", 0)
        with pytest.raises(Again):
            change_soon(address + "&application_name=pg_restore")  # of another program
        change_soon(address, 20)
    monkeypatch.setattr(postgresql, "LEASE_LENGTH", 1000)
    with closing(leave_in_the_middle(address, way)):
        monkeypatch.setattr(postgresql, "LEASE_LENGTH", 0)
        monkeypatch.setattr(Postgresql, "_end_silent", lambda self: None)
        with pytest.raises(Again):
            change_soon(address)


def test_one_that_is_not_patient_waits(proxy: SwallowingProxy, proxied: str) -> None:
    """Until it hears that its connection is gone."""
    patient, other, told = open_database(proxied, patience=SOON), open_database(proxied), list[Exception]()

    def ask() -> None:
        try:
            other.tables()
        except StorageFailed as why:
            told.append(why)

    proxy.swallow()
    thread = Thread(target=ask)
    thread.start()
    with pytest.raises(StorageFailed):
        patient.tables()
    assert told == []
    proxy.cut()
    thread.join(LATE)
    assert len(told) == 1
    patient.close()
    other.close()


@pytest.mark.slow
def test_a_long_answer_that_comes_is_not_given_up(proxied: str) -> None:
    """A statement is silent for less than the limit each time, and takes far longer."""
    database = open_database(proxied, patience=SOON)
    rows = database.rows("SELECT pg_sleep(0.01), repeat('x', 9000) FROM generate_series(1, 100)")
    assert len(rows) == 100
    database.close()


def test_the_server_has_a_limit_too(proxied: str) -> None:
    """So that whoever was cut off keeps no rows from others. What takes long by itself, such as an export, has none."""
    database = open_database(proxied)
    assert database.rows("SHOW statement_timeout") == [("0",)]
    database.close()
    limited = open_database(proxied, patience=SOON)
    assert (
        limited.rows("SHOW statement_timeout") == limited.rows("SHOW idle_in_transaction_session_timeout") == [("15s",)]
    )
    limited.close()


@pytest.mark.parametrize(("more", "said"), [("", "4"), ("&connect_timeout=30", "30")])
def test_the_address_may_say_otherwise(proxied: str, more: str, said: str) -> None:
    database = open_database(proxied + more)
    found = {each.keyword.decode(): each.val for each in database._connection.pgconn.info}
    assert found["connect_timeout"] == said.encode()
    assert found["tcp_user_timeout"] == b"8000"
    database.close()


@pytest.fixture
def service(proxied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    """A service with two studies, of which it holds one."""
    monkeypatch.setattr(postgresql, "LEASE_LENGTH", 1000)
    with inside(proxied, tmp_path / "witness") as made:
        made.begin()
        made.begin(name="other")
        made.run(made.host.drop("other"))
        yield made


def healed(service: Inside) -> None:
    """The clock goes on, at the latest when the server has ended what was cut off."""
    for _ in range(10_000):
        try:
            service.tick()
        except StorageFailed:
            continue
        if service.host.ready:
            return
    raise AssertionError("the study does not heal")


@pytest.mark.slow
def test_everybody_is_answered_soon_and_the_study_heals(proxy: SwallowingProxy, service: Inside) -> None:
    given = service.assign("ann")
    for _ in range(2):
        proxy.swallow()
        start = monotonic()
        replies = service.together(*ASKED)
        assert monotonic() - start < 10
        assert {(reply.status, reply.code) for reply in replies} == {(503, "storage_failed")}
        proxy.heal()
        healed(service)
        assert {reply.status for reply in service.together(*ASKED)} == {200}
    assert service.assign("ann") == given | {"again": True}
    assert service.study("verify", key="officer").status == 200


def rows(service: Inside, table: str) -> int:
    database = open_database(service.address)
    try:
        return int(database.rows(f"SELECT COUNT(*) FROM {table} WHERE study = 'small'")[0][0])
    finally:
        database.close()


@pytest.mark.slow
def test_what_was_committed_without_an_answer_counts_once(proxy: SwallowingProxy, service: Inside) -> None:
    def in_vain(verb: str, **body: Any) -> None:
        proxy.swallow("answers", at=COMMITTED)
        assert service.study(verb, body).code == "storage_failed"
        proxy.heal()
        healed(service)

    in_vain("assign", unit="ann")
    assert rows(service, "place") == 1
    ann = service.assign("ann")
    assert ann["again"]
    in_vain("expose", ticket=ann["ticket"])
    in_vain("report", ticket=ann["ticket"], value=1, proof=PROOF)
    assert rows(service, "reward") == 1
    assert service.study("report", {"ticket": ann["ticket"], "value": 1, "proof": PROOF}).json["status"] == "duplicate"
    assert rows(service, "reward") == 1
    for number in range(3):
        service.seen(f"person {number}")
    service.clock.now += 60_000
    proxy.swallow("answers", at=COMMITTED)
    service.tick()  # which releases
    assert not service.host.ready
    proxy.heal()
    healed(service)
    assert rows(service, "release") == 2
    assert service.study("verify", key="officer").json["people"] == 4
    assert rows(service, "place") == 4


@pytest.mark.slow
def test_who_waits_behind_a_question_that_failed_is_told_the_same(service: Inside) -> None:
    """All threads ask at the same time, and twice as many wait for one."""
    asked, together = list[int](), Barrier(questions.READERS)

    def question(database: Database) -> None:
        asked.append(1)
        together.wait(60)
        raise StorageFailed("the database says nothing")

    async def all_of_them() -> list[Any]:
        waiting = [service.host.read(question) for _ in range(3 * questions.READERS)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    for turn in (1, 2):
        assert {type(each) for each in service.run(all_of_them())} == {StorageFailed}
        assert len(asked) == turn * questions.READERS
    assert service.ask("GET", "/v1/studies", None, "officer").status == 200
