"""Many studies with a shuffler at once: a service and its shuffler, and people who may never report."""

import json
from typing import NamedTuple

from maskedbandit.device.own_place import OwnPlace
from maskedbandit.device.shuffled_reports import draw_bundle, seal_bundle_report
from tests.service.inside import Reply
from tests.service.many_studies_of_two import WINDOW, ManyStudiesOfTwo, StudyOfTwo
from tests.service.shuffler_inside import ShufflerInside


class MixedCohort(NamedTuple):
    """A cohort that was released: what the release says, and what it would say without noise."""

    total: float
    told: int  # by devices whose reports came
    reports: int  # that are in it, as the shuffler states
    coins: int  # that these devices tossed

    @property
    def heads(self) -> int:
        """How many of the coins must have shown heads."""
        found = self.total - self.told + self.coins / 2
        assert found == int(found), "half a coin shows heads"
        return int(found)


class ManyShuffledStudies(ManyStudiesOfTwo):
    """A service and a shuffler, and the studies that are under way, whose windows have a grace as long."""

    second, taken_for = ShufflerInside, 2 * WINDOW

    async def send(self, study: StudyOfTwo, place: OwnPlace, value: int) -> Reply:
        """The device of a place asks the service for its pass, and sends a bundle to the shuffler."""
        path = f"/v1/studies/{study.name}"
        given = await self.leader.asked("POST", f"{path}/pass", {"ticket": place.ticket}, None)
        drawn = draw_bundle(place, value * place.offer.steps)
        body = seal_bundle_report(place, drawn, given.json["shown"]).encode()
        sent: Reply = self.thread.submit(self.helper.ask, "POST", f"{path}/bundle", body, None).result()
        return sent

    def read_mixes(self, study: StudyOfTwo) -> list[MixedCohort]:
        """What was released of a study."""
        found = []
        for each in self.read_entries(study):
            said = json.loads(each["mixed"])
            coins, told = said["messages"] - said["reports"], study.told.get(said["cohort"], 0)
            found.append(MixedCohort(float.fromhex(each["total"]), told, said["reports"], coins))
        return found
