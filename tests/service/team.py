"""A team that runs a study of letters: its keys, its application, and the days that pass."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.service.live import Live

NAME, COME = "newsletter", 40  # who open a letter
CHANCES = {"plain": 2, "short": 3, "question": 9, "numbers": 5}  # how many of ten open the letter


class Team:
    """Those who run the study: the keys that they made, and how far the clock was turned."""

    def __init__(self, browser: Browser, server: Live, turned: Path) -> None:
        self.browser, self.server, self.turned = browser, server, turned
        self.days = 0

    def wait_days(self, days: int) -> None:
        """Days pass."""
        self.days += days
        new = self.turned.with_suffix(".new")
        new.write_text(str(24 * self.days))
        new.rename(self.turned)  # whoever reads the file reads all of it

    def find_public(self, role: str) -> str:
        """The part of a key that may be known."""
        return self.server.keys[role].split("_")[2]

    def ask(self, what: str = "") -> Any:
        """What the interface says of the study."""
        found = self.server.ask("GET", f"/v1/studies/{NAME}{what}", key="owner")
        assert found.status == 200, found
        return found.json

    def do_for_all(self, verb: str, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to requests of the application."""
        found = self.server.study(f"{verb}/batch", {"requests": wanted}, "application", NAME)
        assert found.status == 200, found
        assert {each["status"] for each in found.json["items"]} == {200}
        return [each["answer"] for each in found.json["items"]]

    def send_letters(self, number: int) -> list[dict[str, Any]]:
        """The application asks for everybody's subject line, and reports who opens, forwards and unsubscribes."""
        people = [{"unit": f"{i} of {number}", "attributes": {"country": "AT" if i % 8 else "FR"}} for i in range(COME)]
        given = self.do_for_all("assign", people)
        assert [each["why"] == "not_eligible" for each in given] == [i % 8 == 0 for i in range(COME)]
        came = [(i, each["ticket"], each["arm"]) for i, each in enumerate(given) if each["ticket"]]
        self.do_for_all("expose", [{"ticket": ticket} for _, ticket, _ in came])
        for metric, value in (
            (None, lambda i, arm: i % 10 < CHANCES[arm]),
            ("unsubscribed", lambda i, arm: arm == "numbers"),
            ("forwarded", lambda i, arm: i % 5 == 0),
        ):
            said = {"metric": metric} if metric else {}
            self.do_for_all(
                "report", [{"ticket": ticket, "value": int(value(i, arm)), **said} for i, ticket, arm in came]
            )
        return given
