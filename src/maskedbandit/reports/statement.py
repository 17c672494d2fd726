"""The privacy statement of an experiment: the promise of each policy on each channel, if it were used on people."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from maskedbandit import __version__
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue, MaskedBanditError
from maskedbandit.lab.experiments.experiment import Experiment
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.odds import in_hundred
from maskedbandit.statement.content import STATEMENT_FORMAT, Points, Promise, Statement
from maskedbandit.statement.evidence import gather_evidence, read_audit
from maskedbandit.statement.promises import state_promise
from maskedbandit.words import one_line, say_count

PEOPLE = 10**6  # of a search, which ends by itself


def statement_of_experiment(experiment: Experiment, audits: Sequence[Path] = ()) -> Statement:
    """The statement, with a promise for each pair of a policy and a channel; nothing is simulated for it.

    >>> from maskedbandit.lab.experiments.experiment import read_experiment
    >>> from maskedbandit.lab.experiments.examples import find_experiment
    >>> said = statement_of_experiment(read_experiment(find_experiment("quickstart")))
    >>> [each.loss.loss for each in said.promises[:3]]
    ['without bound', 'ε = 0.5', 'ε = 0.5']
    """
    settings = [each for each in experiment.settings if isinstance(each, Setting)]
    if not settings:
        raise InvalidValue("experiment", experiment.name, "one with a policy: this one has curves of theory alone")
    largest: dict[tuple[str, str, str], Setting] = {}
    for each in sorted(settings, key=people, reverse=True):
        largest.setdefault((each.label, repr(each.policy), repr(each.channel)), each)
    order = list(dict.fromkeys((each.label, repr(each.policy), repr(each.channel)) for each in settings))
    promises = {key: stated(largest[key]) for key in order}
    most_lost = ZERO
    for each in largest.values():
        most_lost |= lost(each)
    chances = [each.loss.right for each in promises.values()]
    least, most = in_hundred(min(chances)), in_hundred(max(chances))
    return Statement(
        format=STATEMENT_FORMAT,
        kind="experiment",
        name=experiment.name,
        about=one_line(experiment.about),
        project=None,
        simulated=True,
        state="simulated",
        as_of=None,
        version=__version__,
        protocol=sha256(experiment.text.encode()).hexdigest(),
        odds=(
            "If this were done with people, and someone tried to guess from everything that is released which of two "
            "outcomes one of them had, starting from 50–50, the guess could be right at most "
            f"{least if least == most else f'{least} to {most}'} times in 100, by what each curve promises."
        ),
        person=[each.loss for each in promises.values()],
        promises=list(promises.values()),
        trust=(
            "Each curve has a trust model of its own, and its promise holds under that alone. The lab draws outcomes "
            "and noise itself, with fast generators: it protects nobody, and has nobody to protect."
        ),
        not_protected=[
            "That a person takes part, when, and which arm it is, in any of these trust models.",
            "What follows from the outcomes of all.",
            "A person who takes part again: each time costs as much once more.",
        ],
        assumptions=[
            "Each person takes part once, in one cohort.",
            "What each channel needs, as below.",
            "On people, the exact samplers of devices and servers are used, and not those of the lab.",
        ],
        points=answer_experiment_points(settings),
        evidence=gather_evidence(
            [each.channel for each in settings], [read_audit(path, None, most_lost) for path in audits]
        ),
        ledger=None,
        registry=None,
    )


def people(setting: Setting) -> int:
    """The largest number of people."""
    return int(setting.task.get("horizon", PEOPLE))


def stated(setting: Setting) -> Promise:
    """The promise of a curve."""
    return state_promise(setting.label, setting.policy, setting.channel, lost(setting))


def lost(setting: Setting) -> Loss:
    """The largest loss of one person, in a cohort of any size that is a power of ten, or of all people."""
    policy, most, channel = setting.policy, people(setting), setting.channel
    if isinstance(policy, ContextualPolicy):
        d, signed = getattr(setting.instance, "d", 1), bool(getattr(setting.instance, "signed", True))
        channel = channel.carrying(policy.statistics(d, signed))
    found = worst(channel, most)
    return policy.loss(Loss.unbounded() if found == ZERO else found, most)


@lru_cache(maxsize=256)
def worst(channel: Channel, most: int) -> Loss:
    """The largest loss of these sizes, of those that the channel can release."""
    found = ZERO
    for size in (*(10**i for i in range(len(str(most)))), most):
        try:
            channel.check_size(size)
            found |= channel.loss(size)
        except MaskedBanditError:
            continue
    return found


def unit(settings: list[Setting]) -> str:
    """The unit of protection: under some policies it includes the context."""
    text = "One outcome of one person, who takes part once."
    protects = {each.policy.protects for each in settings if isinstance(each.policy, ContextualPolicy)}
    if "users" in protects:
        text += (
            " Policies with contexts that protect users: the context and the outcome together, from all other people; "
            "a person's own arm tells that person something."
        )
    if "rewards" in protects:
        text += " Policies with contexts that protect rewards: the outcome alone; contexts and arms are public."
    caps = sorted({each.instance.statistics.cap for each in settings if isinstance(each.instance, Instance)} - {1})
    if caps:
        text += (
            " Of people who have several outcomes, the person: the outcomes are added up. Of each person at most "
            f"{', '.join(map(str, caps))} count{', by setting' * (len(caps) > 1)}."
        )
    return text


def answer_experiment_points(settings: list[Setting]) -> Points:
    """The points of NIST SP 800-226, for what is simulated alone."""
    most = max(map(people, settings))
    none = "There are no people and no outcomes of theirs, so nothing is collected or kept."
    return Points(
        definition="That of each channel, in the table: pure ε, (ε, δ), zero-concentrated or Rényi.",
        parameters="In the table, for one person; where there is no pure ε, at δ = 1e-06.",
        unit=unit(settings),
        neighbours="One person's outcome is replaced, and the number of people is public (bounded neighbours).",
        contribution="An outcome is in [0, 1], and is in one cohort. Contexts are clipped, where there are any.",
        mechanism="That of each channel, below: noise is drawn once for each release.",
        composition="A person's outcome is in one release at most, so releases do not add up: the worst one counts.",
        budget="An experiment has none: nobody is charged. A study charges everybody before an arm is shown.",
        post_processing="Policies see released sums alone, so their decisions cost nothing more.",
        query_model="Sums are released by a schedule that the policy chooses from earlier releases.",
        trust_model="That of each curve, in the table and in the pictures.",
        data_collection=none,
        access=f"{none} Results are simulated, and may be shown to everybody.",
        numerics="The lab draws noise in floating point: it protects nobody. Devices and servers draw whole numbers.",
        randomness="The lab's noise comes from seeded generators, so that results can be repeated.",
        timing="Not protected, in the lab or elsewhere.",
        utility="That is what the experiment measures: see its table and its figure.",
        bias="Accuracy is not broken down by groups of people.",
        choices=(
            "Everything was chosen in the file. Losses that depend on the size of a cohort were computed for cohorts "
            f"of 1, 10, 100 and so on, up to {say_count(most)} people."
        ),
        testing="See the evidence.",
    )
