"""Clients of a service in memory, which do not wait before they try again."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.client import AsyncClient, Client, delivery
from maskedbandit.client.openfeature import MaskedBanditProvider
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

Made = Callable[..., Client]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "choose_pause", lambda *waits: 0.001)
    for each in (Client, AsyncClient, MaskedBanditProvider):  # this machine may be busy
        monkeypatch.setattr(each.flush, "__defaults__", (600.0,))


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def network(service: FakeService) -> Network:
    return Network(service)


@pytest.fixture
def client(network: Network, tmp_path: Path) -> Iterator[Made]:
    """Makes clients of the service, in one folder, and closes them."""
    made: list[Client] = []

    def make(**options: Any) -> Client:
        usual = {"fallback": "plain", "folder": tmp_path, "transport": lambda: network, "deadline": 30.0}
        made.append(Client(URL, KEY, STUDY, **(usual | options)))
        return made[-1]

    yield make
    for each in made:
        each.close(timeout=0)


def always(fault: str | bytes | None, path: str) -> str | bytes | None:
    return fault


def only(fault: str | bytes | None) -> Callable[[str], str | bytes | None]:
    """The same fault for every request."""
    return partial(always, fault)
