"""Watches: one question for all who listen, and each hears of a new version, of a failure, and of the end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from maskedbandit.errors import MaskedBanditError, StorageFailed, UnknownStudy
from maskedbandit.service.host import watch
from maskedbandit.service.host.watch import StudyWatch

MANY, NEVER = 20, 1000.0  # listeners; seconds


class Watched:
    """A study of which a version is asked for."""

    def __init__(self) -> None:
        self.version, self.asked = (1,), 0
        self.fails: Exception | None = None
        self.stops: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.watch = StudyWatch(self.find_version, self.stops)

    async def find_version(self) -> tuple[Any, ...]:
        self.asked += 1
        if self.fails:
            raise self.fails
        return self.version

    async def until_asked(self) -> None:
        """Until it was asked for twice more: then what is true now is known."""
        before = self.asked
        while self.asked < before + 2:
            await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.001)


async def listen(watched: Watched, may_listen: Callable[[], bool] = lambda: True) -> tuple[tuple[Any, ...], int]:
    """The next version that is heard of, and how often it had been asked for."""
    with watched.watch.listen(may_listen) as listener:
        return await listener.await_version((1,), NEVER), watched.asked


def play(play_with: Callable[[Watched], Coroutine[Any, Any, None]]) -> None:
    async def played() -> None:
        await asyncio.wait_for(play_with(Watched()), 60)

    asyncio.run(played())


def test_one_question_is_asked_for_all_who_listen() -> None:
    async def story(watched: Watched) -> None:
        listeners = [asyncio.create_task(listen(watched)) for _ in range(MANY)]
        await watched.until_asked()
        assert not any(each.done() for each in listeners)
        watched.version = (2,)
        found = await asyncio.gather(*listeners)
        assert {version for version, _ in found} == {(2,)}
        assert len({asked for _, asked in found}) == 1
        assert watched.watch._task is None  # nobody listens, so nothing is asked
        watched.version = (3,)
        assert (await listen(watched))[0] == (3,)

    play(story)


def test_who_comes_in_the_moment_in_which_the_last_one_leaves_hears_of_the_next_version() -> None:
    async def story(watched: Watched) -> None:
        with watched.watch.listen(lambda: True):
            await watched.until_asked()
        watched.version = (2,)
        assert (await listen(watched))[0] == (2,)

    play(story)


def test_who_may_listen_no_more_hears_it_alone() -> None:
    async def story(watched: Watched) -> None:
        allowed = [True]
        one = asyncio.create_task(listen(watched, lambda: allowed[0]))
        other = asyncio.create_task(listen(watched))
        await watched.until_asked()
        assert not one.done()
        allowed[0] = False
        assert (await one)[0] == (1,)
        await watched.until_asked()
        assert not other.done()
        watched.stops.set_result(None)
        assert (await other)[0] == (1,)

    play(story)


FAILURES = [StorageFailed("the disk is full"), UnknownStudy("it was deleted"), RuntimeError("no thread is left")]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_is_told_to_all_and_to_nobody_who_comes_later(failure: Exception) -> None:
    async def story(watched: Watched) -> None:
        listeners = [asyncio.create_task(listen(watched)) for _ in range(MANY)]
        await watched.until_asked()
        watched.fails = failure
        found = await asyncio.gather(*listeners, return_exceptions=True)
        assert all(isinstance(each, MaskedBanditError) for each in found)
        watched.fails, watched.version = None, (2,)
        assert (await listen(watched))[0] == (2,)

    play(story)


@pytest.mark.parametrize("ends", ["the study", "the server"])
def test_who_is_busy_when_it_ends_hears_of_it_afterwards(ends: str) -> None:
    async def story(watched: Watched) -> None:
        with watched.watch.listen(lambda: True) as listener:
            await watched.until_asked()
            if ends == "the server":
                watched.stops.set_result(None)
                assert await listener.await_version((1,), NEVER) == (1,)
                return
            watched.fails = UnknownStudy("it was deleted")
            while not watched.watch.ended:
                await asyncio.sleep(0)
            with pytest.raises(UnknownStudy):
                await listener.await_version((1,), NEVER)

    play(story)


def test_who_was_told_the_newest_version_sleeps() -> None:
    async def story(watched: Watched) -> None:
        with watched.watch.listen(lambda: True) as listener:
            assert await listener.await_version((1,), 0.01) == (1,)  # until the time is over

    play(story)
