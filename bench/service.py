"""What the service costs: CPU of a durable assignment against that of an answer without content, and how many a second.

`python -m bench.service` measures these alone; `python -m bench.service --soak 600` asks at half the largest rate for
ten minutes, and watches memory and files. The CPU is that of the server's process, all its threads; whoever asks is
another process on the same machine, so requests a second are only to be compared in one run.
"""

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import uvloop

from bench.crowd import crowd, health_beside_a_head, health_times
from bench.report import row

CONNECTIONS, REQUESTS, RUNS = 64, 20_000, 4
WIDTHS = 32, 64, 100, 256  # connections: the more, the more share a commit
TICK = os.sysconf("SC_CLK_TCK")


class Running(NamedTuple):
    """A server."""

    process: subprocess.Popen[str]
    port: int
    key: str

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self) -> float:
        """Megabytes that are resident."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

    def files(self) -> int:
        """How many files and sockets are open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Asked(NamedTuple):
    """What came of many requests."""

    cpu: float  # of the server, of each
    rate: float  # a second
    times: list[float]  # sorted
    bodies: list[bytes]

    def quantile(self, share: float) -> float:
        """Milliseconds within which this share was answered."""
        return 1000 * self.times[min(int(share * len(self.times)), len(self.times) - 1)]


@contextmanager
def running(kind: str) -> Iterator[Running]:
    """A server, until the end of a block."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.servers", kind, folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            port, _, key = process.stdout.readline().strip().partition(" ")
            try:
                yield Running(process, int(port), key)
            finally:
                process.terminate()


class Connection(asyncio.Protocol):
    """One connection, on which one request after the other is sent."""

    def connection_made(self, transport: Any) -> None:
        self.transport, self.came, self.length = transport, b"", 0

    def ask(self, raw: bytes) -> asyncio.Future[bytes]:
        """The body of the answer."""
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.transport.write(raw)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self.came += data
        head, found, body = self.came.partition(b"\r\n\r\n")
        if found and len(body) == int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]):
            self.came = b""
            assert head.startswith(b"HTTP/1.1 200"), self.came
            self.answer.set_result(body)


def request(server: Running, verb: str, body: bytes) -> bytes:
    """A request, as it is sent."""
    head = f"POST /v1/studies/bench/{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def asked(
    server: Running, many: int, body: Callable[[int], tuple[str, bytes]], pause: float = 0.0, width: int = CONNECTIONS
) -> Asked:
    """Ask so often, on many connections, each of which waits for its answer, and then for a pause."""
    loop, numbers = asyncio.get_running_loop(), iter(range(many))
    times, bodies = list[float](), list[bytes]()

    async def client() -> None:
        _, connection = await loop.create_connection(Connection, "127.0.0.1", server.port)
        for number in numbers:
            raw, start = request(server, *body(number)), time.perf_counter()
            bodies.append(await connection.ask(raw))
            times.append(time.perf_counter() - start)
            if pause:
                await asyncio.sleep(max(0.0, start + pause - time.perf_counter()))
        connection.transport.close()

    cpu, start = server.cpu(), time.perf_counter()
    await asyncio.gather(*[client() for _ in range(width)])
    took = time.perf_counter() - start
    return Asked((server.cpu() - cpu) / many, many / took, sorted(times), bodies)


def people(start: int) -> Callable[[int], tuple[str, bytes]]:
    """Assignments of people who never came before."""
    return lambda number: ("assign", b'{"unit":"person %d"}' % (start + number))


def measure(kind: str, many: int, reports: bool = False, width: int = CONNECTIONS) -> list[Asked]:
    """A server of its own: assignments, after some to warm up, and then perhaps their reports."""
    with running(kind) as server:

        async def all_of_them() -> list[Asked]:
            await asked(server, many // 10, people(10**9), width=width)
            found = [await asked(server, many, people(0), width=width)]
            if reports:
                tickets = [msgspec.json.decode(each)["ticket"].encode() for each in found[0].bodies]
                found.append(await asked(server, many, lambda i: ("report", b'{"ticket":"%s","value":1}' % tickets[i])))
            return found

        return uvloop.run(all_of_them())


def least(kind: str, width: int = CONNECTIONS) -> Asked:
    """The run that cost least of several: whatever else the machine does only adds to it."""
    return min((measure(kind, REQUESTS, width=width)[0] for _ in range(RUNS)), key=lambda each: each.cpu)


def soak(seconds: int, rate: float) -> None:
    """People come at this rate for so long; the memory and the files of the server, at the beginning and at the end."""
    with running("service") as server:
        numbers = count(0, 10**7)

        async def part(length: float) -> Asked:
            many = round(rate * length)
            return await asked(server, many, people(next(numbers)), CONNECTIONS / rate)

        async def all_of_them() -> list[tuple[float, int, float]]:
            await part(seconds / 10)
            found = []
            for _ in range(10):
                done = await part(seconds / 10)
                await asyncio.sleep(1)  # until the server has closed what was closed here
                found.append((server.memory(), server.files(), done.quantile(0.99)))
                gc.collect()
            return found

        found = uvloop.run(all_of_them())
    grown = 60 / (seconds * 0.9) * (found[-1][0] - found[0][0])
    row(f"soak of {seconds} s at {rate:.0f} assignments a second", found[-1][0], "MB")
    row("  memory grows by, in a minute", grown, "MB", 1, f"{found[0][0]:.1f} MB at first")
    row("  open files, at the end", found[-1][1], "", found[0][1] + 2, f"{found[0][1]} at first")
    row("  99 % of the assignments take at most", max(each[2] for each in found), "ms")


def crowded() -> None:
    """How much longer it takes to hear that the server lives, beside idle connections and a head without end."""
    with running("service") as server:
        health_times(server.port, 100)
        quiet = median(health_times(server.port, 400))
        with crowd(server.port, 5000, "bench", [], 0):
            loud = median(health_beside_a_head(server.port, 200))
    note = f"{1e6 * loud:.0f} and {1e6 * quiet:.0f} µs"
    row("HTTP: health beside 5 000 connections and 200 MB of a head", loud / quiet, "quiet", 3, note)


def service(seconds: int = 60) -> None:
    """Measure everything about the service."""
    for width in WIDTHS:
        echo, assign = least("echo", width), least("service", width)
        cost = f"{1e6 * assign.cpu:.1f} and {1e6 * echo.cpu:.1f} µs, {assign.rate:.0f} and {echo.rate:.0f} a second"
        row(f"HTTP: assign, durable, {width} connections, CPU", assign.cpu / echo.cpu, "of that of an echo", 3, cost)
        row("  half of them take at most", assign.quantile(0.5), "ms")
        late, early = assign.quantile(0.99), echo.quantile(0.99)  # so many ask at once that all of them wait
        row("  99 % of them take at most", late / early, "of an echo", 3, f"{late:.3g} and {early:.3g} ms")
    assign = least("service")
    report = measure("service", REQUESTS, reports=True)[1]
    alone = measure("alone", REQUESTS // 10)[0]
    row(
        f"  with one commit for many, of one commit each, {CONNECTIONS} connections",
        alone.rate / assign.rate,
        "ratio",
        1 / 1.5,
    )
    row("HTTP: report, durable, CPU", 1e6 * report.cpu, "µs", None, f"{report.rate:.0f} a second")
    row("  99 % of them take at most", report.quantile(0.99), "ms", 80)
    crowded()
    soak(seconds, assign.rate / 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--soak", type=int, default=60, metavar="SECONDS")
    service(parser.parse_args().soak)
