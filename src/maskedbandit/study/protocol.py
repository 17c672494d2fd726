"""The protocol of a study: all that is decided before its first person comes, and never changed after that.

    name = "newsletter"
    people = 20_000                  # or delta = 0.1, if the policy searches until its answer is certain
    policy = "contemporaneous_klucb"
    channel = { name = "central", epsilon = 1 }
    arms = [{ name = "short", payload = { template = 7 } }, { name = "long" }]

    [reward]                         # what is measured of a person, and for how long (reward.py)
    window = "6 hours"

    [budget]                         # of each person, in all studies of the project together
    epsilon = 1
    period = "90 days"               # left out: for ever

More tables have a file each here, and docs/protocol.md has every key. A protocol is frozen when its study starts; its
hash is the first entry of the study's ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss
from maskedbandit.study import tables
from maskedbandit.study.control import Control, count_left
from maskedbandit.study.device_rounds import DeviceRounds
from maskedbandit.study.enrolment import Enrolment
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.live_channel import check_live_outcomes, make_live_channel
from maskedbandit.study.metrics import Metric, read_metrics
from maskedbandit.study.naming import STUDY_PARTS, check_study_name
from maskedbandit.study.operators import Operators
from maskedbandit.study.outcomes import FurtherOutcome, MeasuredOutcome, list_outcomes
from maskedbandit.study.protocol_checks import list_checks
from maskedbandit.study.reward import Reward
from maskedbandit.study.signatures import read_signers
from maskedbandit.study.site_stages import SiteStage
from maskedbandit.study.sites import SitesOfStudy

MOST_ABOUT = 1000


@dataclass(frozen=True)
class Protocol:
    """A protocol that was read and checked as a whole.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "policy": "successive_elimination",
    ...     "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}})
    >>> protocol.k, protocol.price(100), protocol == Protocol.from_text(protocol.text)
    (2, Loss(ε = 1), True)
    """

    text: str  # the tables as JSON, with sorted keys and no spaces
    added: tuple[tuple[str, Any], ...] = ()  # arms that were added since, with their payloads
    stage: SiteStage | None = None  # a later list of sites than its own
    _among: dict[SiteStage, Protocol] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_file(cls, path: Path) -> Protocol:
        """The protocol in a TOML file."""
        found = tables.read_toml_file(path)
        try:
            return cls.from_table(found)
        except InvalidValue as wrong:
            wrong.args = (f"{path}: {wrong}",)
            raise

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Protocol:
        """The protocol in a table, or raise `InvalidValue`."""
        try:
            text = json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as wrong:
            allowed = f"of numbers, texts, lists and tables ({wrong})"
            raise InvalidValue("protocol", type(table).__name__, allowed) from None
        made = cls(text)
        made.check()
        return made

    @classmethod
    def from_text(cls, text: str) -> Protocol:
        """The protocol that `text` holds, as it was checked before."""
        return cls(text)

    @cached_property
    def table(self) -> dict[str, Any]:
        """All that was given."""
        return dict(json.loads(self.text))

    @property
    def digest(self) -> str:
        """The hash by which the study's ledger names the protocol."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def name_of_sites(self) -> str:
        """The hash to which rounds are bound: of the protocol, or of a later list of sites, which follows from it."""
        return self.stage.name if self.stage else self.digest

    @property
    def name(self) -> str:
        """The study's name, one in a database."""
        return check_study_name("name", self.table.get("name"))

    @property
    def about(self) -> str:
        """What the study is to find out, for people."""
        about = self.table.get("about", "")
        if not isinstance(about, str) or len(about) > MOST_ABOUT:
            raise InvalidValue("about", about, f"a text of at most {MOST_ABOUT} characters")
        return about

    @property
    def project(self) -> str:
        """The project, whose studies share a person's budget."""
        return check_study_name("project", self.table.get("project", self.name))

    @cached_property
    def arms(self) -> tuple[tuple[str, Any], ...]:
        """The name of each arm and what the application is given with it."""
        return (*tables.read_arms(self.table.get("arms")), *self.added)

    def also(self, arms: Sequence[tuple[str, Any]]) -> Protocol:
        """This protocol with these arms after its own, or raise `InvalidValue`; its text and hash stay what they are.

        >>> from maskedbandit.store.studies import open_example
        >>> with open_example() as study:
        ...     [name for name, _ in study.protocol.also([("c", {"color": "red"})]).arms]
        ['a', 'b', 'c']
        """
        made = replace(self, added=tables.copy_arms(arms))
        tables.check_arms(made.arms)
        return made

    def among(self, stage: SiteStage) -> Protocol:
        """This protocol with the sites of a later list, made once; its text and hash stay what they are."""
        return self._among.get(stage) or self._among.setdefault(stage, replace(self, stage=stage))

    @property
    def k(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @cached_property
    def control(self) -> Control | None:
        """The arm with a fixed share of all places, if there is one."""
        return Control.of(self.table["arms"]) if self.arms else None  # what is no table is refused as an arm

    @property
    def control_arm(self) -> int | None:
        """The number of that arm."""
        return None if self.control is None else self.control.arm

    @property
    def choices(self) -> int:
        """Among how many arms the policy chooses when the study starts: all but the control."""
        return self.k - len(self.added) - (self.control is not None)

    @cached_property
    def policy(self) -> Policy:
        """The policy, as the experiments of the lab name it."""
        found: Policy = STUDY_PARTS.made("policy", self.table.get("policy", "contemporaneous_klucb"))
        if isinstance(found, ContextualPolicy):
            raise InvalidValue("policy", found, "one of arms without contexts, such as contemporaneous_klucb")
        return found

    @cached_property
    def channel(self) -> Channel:
        """The channel of rewards."""
        return self.outcomes[0].channel

    @cached_property
    def outcomes(self) -> tuple[MeasuredOutcome, ...]:
        """The reward, the guardrail if there is one, which has number 1 then, and metrics; they share epsilon."""
        found = make_live_channel(self.table.get("channel"), self.operators, self.sites, self.rounds)
        further: list[FurtherOutcome] = [*([self.guardrail] if self.guardrail else []), *self.metrics]
        check_live_outcomes(found, self.reward, self.table.keys() & {"guardrail", "metrics"}, self.people)
        if lacks := self.policy.needs(found.law()):
            raise InvalidValue("channel", found, f"one that gives {type(self.policy).__name__} {lacks}")
        return list_outcomes(found, self.reward, further)

    @property
    def stages(self) -> bool:
        """Whether its arms may change: no sum over all releases begins anew, and no phases planned for all people."""
        return not self.policy.purpose.phased and not self.channel.law().counter > 0

    @cached_property
    def on_devices(self) -> bool:
        """Whether the devices of the people add the noise, so that reports hold no rewards."""
        return self.outcomes[0].on_devices

    @property
    def shuffled(self) -> bool:
        """Whether the second of two operators mixes what devices send, and adds up nothing."""
        return self.operators is not None and isinstance(self.channel, MixingChannel)

    @cached_property
    def operators(self) -> Operators | None:
        """The two for which devices seal their reports; None if there is one server."""
        return Operators.from_table(self.table["operators"]) if "operators" in self.table else None

    @cached_property
    def sites(self) -> SitesOfStudy | None:
        """Those that keep the outcomes of their own people; None if a service has them, or devices."""
        own = SitesOfStudy.from_table(self.table["sites"]) if "sites" in self.table else None
        return self.stage.sites if self.stage else own

    @cached_property
    def rounds(self) -> DeviceRounds | None:
        """Those in which the devices add up by themselves; None if they do not."""
        return DeviceRounds.from_table(self.table["rounds"]) if "rounds" in self.table else None

    @property
    def wait(self) -> int:
        """For how many milliseconds a phase of a round waits for its parties; 0: no cohort has a round."""
        return max(each.wait if each else 0 for each in (self.sites, self.rounds))

    @cached_property
    def people(self) -> int | None:
        """How many people get a place in all; None if the study ends with the answer of a search."""
        return tables.read_people(self.table, self.policy.goal)

    @property
    def aim(self) -> int | float:
        """What the policy's `init` gets: the people who are left to it, or the probability of a wrong answer."""
        left = count_left(self.control, self.people)
        return tables.read_aim(self.table, self.policy.goal) if left is None else left

    def aim_of_stage(self, number: int, placed: int) -> int | float:
        """The same in stage `number`, from 2 on, before which so many people got a place: see store.book.standing."""
        left = count_left(self.control, self.people, placed)
        return self.aim / (number * (number - 1)) if left is None else max(left, 1)

    @cached_property
    def signed_by(self) -> tuple[str, ...]:
        """The public keys of whoever signs who comes; none if the service believes its clients."""
        return read_signers(self.table.get("signed_by"))

    @cached_property
    def reward(self) -> Reward:
        """How reports become a reward."""
        return Reward.from_table(self.table.get("reward", {}))

    @cached_property
    def guardrail(self) -> Guardrail | None:
        """The outcome by which harm is seen, if there is one."""
        if "guardrail" not in self.table:
            return None
        names = tuple(name for name, _ in tables.read_arms(self.table.get("arms")))
        return Guardrail.from_table(self.table["guardrail"], self.reward, names)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Further outcomes of which the sums are published, and by which nothing is decided."""
        return read_metrics(self.table.get("metrics", []), self.reward, self.guardrail.name if self.guardrail else "")

    @cached_property
    def enrolment(self) -> Enrolment:
        """Who may be enrolled: everybody, if the protocol does not say."""
        names = [name for name, _ in tables.read_arms(self.table.get("arms"))]
        return Enrolment.from_table(self.table["enrolment"], names) if "enrolment" in self.table else Enrolment()

    @cached_property
    def budget(self) -> Loss:
        """What each person may lose in a period, by all studies of the project."""
        return tables.read_budget(self.table.get("budget", {}))

    @property
    def period(self) -> int | None:
        """After how many milliseconds a person has a new budget; None: never."""
        return tables.read_period(self.table.get("budget", {}))

    def price(self, n: int) -> Loss:
        """What the release of a cohort of n, of all outcomes together, costs each of its people."""
        first, *further = [outcome.channel.loss(n) for outcome in self.outcomes]
        return sum(further, first)

    def offers(self, n: int) -> tuple[Offer, ...]:
        """What is offered to a cohort of n, one for each outcome."""
        return tuple(outcome.offer(n) for outcome in self.outcomes)

    def check(self) -> None:
        """Raise `InvalidValue` unless everything is allowed; `list_faults` (faults.py) says all that is not."""
        for _, check in list_checks(self):
            check()
