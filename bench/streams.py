"""What streams of events cost while nothing happens: a thousand listeners to one study, in the process of the service.

The sockets are left out, over which nothing is sent meanwhile but a comment every 15 seconds; a service keeps at most
500 streams open. `python -m bench.streams` measures these alone.
"""

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import row
from bench.servers import LARGE
from maskedbandit.service.host.host import Host
from maskedbandit.service.request.events import event_stream
from maskedbandit.service.request.limits import OpenStreams
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.protocol import Protocol

LISTENERS, SECONDS = 1000, 16


async def measure_listening(host: Host) -> tuple[float, float]:
    """The part of a core that the service takes without listeners, and with them."""

    async def part() -> float:
        before = time.process_time()
        await asyncio.sleep(SECONDS)
        return (time.process_time() - before) / SECONDS

    async def listen() -> None:
        async for _ in (await event_stream(host, "bench", 0, None)).body_iterator:
            pass

    host.open_streams = OpenStreams(LISTENERS, LISTENERS)
    await host.start()
    alone = await part()
    listeners = [asyncio.create_task(listen()) for _ in range(LISTENERS)]
    await asyncio.sleep(5)  # until all were told how the study stands
    together = await part()
    await host.stop()
    await asyncio.gather(*listeners)
    return alone, together


def streams() -> None:
    """Percent of a core."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        address, witness = f"sqlite:///{folder}/studies.db", folder / "witness"
        write_study(Protocol.from_table(LARGE), address, witness)
        with open_study(address, folder=witness) as study:
            study.start()

        async def measured() -> tuple[float, float]:
            return await measure_listening(Host(address, witness))

        alone, together = asyncio.run(measured())
    note = f"the service alone takes {100 * alone:.2g}"
    row(f"{LISTENERS} streams of events, nothing happens", 100 * (together - alone), "% core", 1, note)


if __name__ == "__main__":
    streams()
