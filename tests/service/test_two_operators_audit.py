"""The audit of studies of two operators through the leader's API: as the public, the leader and the helper see them."""

from typing import Any

import httpx
import pytest

from maskedbandit.errors import Disagreement
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit.audit import AuditPart
from maskedbandit.reports.audit.audit_study import SERVICE_COHORT, throw_away
from maskedbandit.reports.audit.over_http import Service
from maskedbandit.reports.audit.parties import list_parties, list_seen_of_arm
from maskedbandit.reports.audit.samples import promise_to_samples, sampled_part
from maskedbandit.reports.audit.services import take_columns, views_of
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.uploads import ShareReader
from maskedbandit.store import settle
from maskedbandit.store.helping import totals
from maskedbandit.store.helping.session import HelperSession
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE
from tests.service.many_studies_of_two import many_studies_of_two
from tests.statistics import ALPHA
from tests.store.two_operators import CHANNEL

ARMS, SAMPLES = 50, 300


def audit(samples: int, epsilon: int = 1) -> list[AuditPart]:
    """What an audit finds, as the leader and as the helper; each is wrong with a probability of at most 1e-9."""
    with many_studies_of_two() as both:
        host, clock = both.leader.host, both.leader.clock
        table = TABLE | {"channel": CHANNEL | {"epsilon": epsilon}, "budget": {"epsilon": epsilon}}
        protocol = Protocol.from_table(table | {"operators": both.operators})

        async def wait(study: str) -> None:
            clock.now += 1
            await host._round()
            await host.links.rest()

        async def play() -> Any:
            transport = httpx.ASGITransport(app=both.leader.app)
            async with httpx.AsyncClient(base_url="http://audit", transport=transport) as client:
                service = Service(client, both.leader.keys["owner"], wait, ARMS, officer=both.leader.keys["officer"])
                made = throw_away(protocol, "audit-x", arms=ARMS)
                return await views_of(service, made, samples, 3, lambda n: None)

        views = both.leader.run(play())
    promise = promise_to_samples(protocol.price(SERVICE_COHORT))
    assert views[0].shape[1] == len(list_seen_of_arm(protocol)) == 9
    return [
        sampled_part(party, promise, take_columns(views, columns), [], names, ALPHA)
        for party, columns, names in list_parties(protocol)
    ]


@pytest.mark.slow
def test_both_operators_keep_the_promise() -> None:
    """Either operator sees one draw of noise, which shows a part of what is promised, and no more.

    As many samples as the first ones show each of the twins; of the others, with other bits, the bound is 1.1, and its
    deviation .15.
    """
    assert not any(each.violation for each in audit(SAMPLES))
    for found in audit(400, epsilon=4):
        assert 0.1 < found.lower_bound <= 4


class OwnBits(Bits):
    """With which one operator draws."""


def silence(patch: pytest.MonkeyPatch, whose: Any) -> None:
    """An operator adds no noise."""
    real = DiscreteLaplace.noise_share
    patch.setattr(whose, "Bits", OwnBits)
    patch.setattr(
        DiscreteLaplace,
        "noise_share",
        lambda self, honest, bits: 0 if type(bits) is OwnBits else real(self, honest, bits),
    )


def silent_helper(patch: pytest.MonkeyPatch) -> str:
    """The leader sees the sum."""
    silence(patch, totals)
    return "leader"


def silent_leader(patch: pytest.MonkeyPatch) -> str:
    """The helper sees the sum."""
    silence(patch, settle)
    return "helper"


def one_draw_for_two_cohorts(patch: pytest.MonkeyPatch) -> str:
    """The helper draws once for an arm's cohort and the next: the leader sees by how much their sums differ."""
    real, kept = HelperSession.noise, dict[int, int]()

    def noise(self: HelperSession, n: int) -> Any:
        class Repeated:
            def noise_share(self, honest: Any, bits: Bits) -> int:
                return kept[len(made) // ARMS // 2 * ARMS + len(made) % ARMS]

        made = self.made
        kept.setdefault(len(made) // ARMS // 2 * ARMS + len(made) % ARMS, real(self, n).noise_share(1, Bits()))
        return Repeated()

    patch.setattr(HelperSession, "noise", noise)
    return "leader"


@pytest.mark.slow
@pytest.mark.parametrize("twin", [silent_helper, silent_leader, one_draw_for_two_cohorts])
def test_each_broken_operator_is_noticed(twin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whose = twin(monkeypatch)
    found = [each.part for each in audit(SAMPLES) if each.violation]  # by a bound of at least 1.1
    assert found == [f", to the {whose}"]


@pytest.mark.slow
def test_a_report_that_is_taken_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By both operators, so that their shares fit each other, and not what the audit's devices sent."""
    real = ShareReader.read

    def read(self: ShareReader, *given: Any) -> Any:
        share = real(self, *given)
        return share._replace(value=2 * share.value % FIELD)

    monkeypatch.setattr(ShareReader, "read", read)
    with pytest.raises(Disagreement, match="in the shares of both operators once"):
        audit(2 * ARMS)
