"""All errors that Masked Bandit raises on purpose.

    MaskedBanditError
    ├── InvalidValue (ValueError)   a value is not allowed; the message says which one, and what is allowed
    │   ├── UnknownName             an unknown name, with the nearest one that exists
    │   ├── PersonalValue           the same for a value about a person, which is not shown
    │   │   └── RewardOutOfRange    a reward outside [0, 1], or not a number
    │   └── ModulusTooSmall         a cohort's sum does not fit the modulus
    ├── BudgetExceeded              the ledger refused a charge, and changed nothing
    ├── IllegalDecision             a policy asked for something that cannot be done
    ├── KernelError                 a kernel is not marked, does not compile, or reads outside an array
    ├── ProtocolError               a protocol stopped, and nothing more is revealed
    │   ├── Malformed               bytes that are not a message of the expected kind
    │   ├── OutOfTurn               a message of another session or phase, or a second one
    │   ├── Forged                  a signature, a seal or a proof that is wrong
    │   ├── Disagreement            another party's message contradicts what is known
    │   ├── TooFew                  too few devices are left for a sum that hides its terms
    │   ├── Implausible             a sum that no honest cohort gives
    │   └── AlreadySpent            a user took part in a cohort before
    ├── Refused                     a study refuses what it is asked to do, and nothing has changed
    │   ├── UnknownStudy            no study has this name
    │   ├── UnknownTicket           no place of the study has this ticket
    │   ├── UnknownArm              no arm of the study has this name
    │   ├── UnknownKey              no key of the service has this public part
    │   ├── UnknownWebhook          the service has no webhook of this name
    │   ├── FrozenProtocol          a study that was started keeps its protocol
    │   ├── NotRunning              the study is not in a state in which this can be done
    │   ├── NotApproved             no officer of privacy has approved the protocol that is to be started
    │   ├── NotConfirmed            a command that cannot be undone asks first, and nobody confirmed it
    │   ├── NotExposed              a report about a person who, as far as is known, did not see the arm
    │   ├── NoConsent               a device whose person did not agree to take part in studies
    │   ├── Conflict                the request contradicts what is stored, or what came before
    │   ├── Late                    its time has passed
    │   ├── Unauthorized            a key or a signature is missing, wrong or revoked
    │   ├── Forbidden               the role of a key does not allow it
    │   ├── TooLarge                a request has too many bytes
    │   └── TooMany                 requests come faster than is allowed
    ├── StoreError                  a study's database cannot be used; nothing was acknowledged
    │   ├── StorageFailed           the disk or the server failed
    │   ├── FencedOff               another process has taken the study over
    │   ├── BehindWitness           the ledger is older than its witness: a restored copy, or a clone
    │   ├── UnknownSchema           the tables are those of another version
    │   └── Corrupted               a row is not what the ledger says
    ├── Contradicted                a privacy statement that the ledger contradicts
    ├── BiasedLog                   a log whose arms were not shown with the probabilities that it states
    ├── ResultsExist                a run would overwrite the results of another
    └── WorkersLost                 the workers of an executor ended, and runs with them

On the command line each becomes one line on standard error and exit code 2. Each has a `code` for programs: the name of
its class in lower case, as `budget_exceeded`.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from maskedbandit.value_words import plain_name, shorten_value


class MaskedBanditError(Exception):
    """Anything that this package raises on purpose.

    >>> BudgetExceeded().code
    'budget_exceeded'
    """

    @property
    def code(self) -> str:
        """What programs may rely on: the name of the class."""
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_error, (type(self), *self.args), self.__dict__


def restore_error(kind: type[MaskedBanditError], *said: object) -> MaskedBanditError:
    """An error that comes from another process, with what it says there.

    >>> from pickle import dumps, loads
    >>> loads(dumps(InvalidValue("epsilon", -1, "positive")))
    InvalidValue('epsilon is -1: it must be positive')
    """
    return kind.__new__(kind, *said)


class InvalidValue(MaskedBanditError, ValueError):
    """A value is not allowed.

    >>> raise InvalidValue("epsilon", -1, "a positive number")
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: epsilon is -1: it must be a positive number
    """

    faults: tuple[tuple[str, str], ...] = ()  # of a protocol: all that is wrong with it, each with its place before it

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name  # of the value; `study/faults.py` knows by it where in a protocol the value stands
        super().__init__(f"{name} is {shorten_value(value)}: it must be {allowed}")


class UnknownName(InvalidValue):
    """An unknown name. A known one is suggested if it is spelled nearly so.

    >>> raise UnknownName("policy", "UBC1", ["ucb1", "uniform"])
    Traceback (most recent call last):
    maskedbandit.errors.UnknownName: policy is 'UBC1': did you mean 'ucb1'? (known: ucb1, uniform)
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.name = kind
        known = sorted(known)
        spelled = {plain_name(each): each for each in known}
        near = get_close_matches(plain_name(name), spelled, n=1, cutoff=0.56)
        hint = f"did you mean {spelled[near[0]]!r}? " if near else ""
        Exception.__init__(self, f"{kind} is {shorten_value(name)}: {hint}(known: {', '.join(known) or 'none'})")


class PersonalValue(InvalidValue):
    """A value about a person is not allowed. Errors end in logs, so the value is left out of the message.

    >>> raise PersonalValue("user", "a str")
    Traceback (most recent call last):
    maskedbandit.errors.PersonalValue: user must be a str (the value given is personal and not shown)
    """

    def __init__(self, name: str, allowed: str) -> None:
        self.name = name
        Exception.__init__(self, f"{name} must be {allowed} (the value given is personal and not shown)")


class RewardOutOfRange(PersonalValue):
    """A reward is outside [0, 1], or not a number; clip before it reaches a channel."""

    def __init__(self) -> None:
        super().__init__("reward", "a number in [0, 1]")


class ModulusTooSmall(InvalidValue):
    """A cohort's noisy sum would wrap around the modulus more often than promised."""

    def __init__(self, modulus: int, n: int, needed: int) -> None:
        super().__init__("modulus", modulus, f"at least {needed} for a cohort of {n} users")


class BudgetExceeded(MaskedBanditError):
    """A charge would overspend somebody's privacy budget. Nothing was charged."""


class IllegalDecision(MaskedBanditError):
    """A policy asked for an impossible arm or number of users, or waits although no release is due."""


class KernelError(MaskedBanditError):
    """A kernel is not marked as one, does not compile, or reads outside an array; the message says which, and where."""


class Refused(MaskedBanditError):
    """A study refuses what it is asked to do. Nothing has changed."""


class UnknownStudy(Refused):
    """No study of the database has this name."""


class UnknownTicket(Refused):
    """No place of the study has this ticket, or its user's data was erased."""


class UnknownArm(Refused):
    """No arm of the study has this name."""


class UnknownKey(Refused):
    """No key of the database has this public part."""


class UnknownWebhook(Refused):
    """There is no webhook of this name."""


class FrozenProtocol(Refused):
    """A study that was started keeps the protocol with which it was started."""


class NotRunning(Refused):
    """The study is not in a state in which this can be done: a draft, paused, stopped or archived."""


class NotApproved(Refused):
    """An officer of privacy is to approve the protocol before it is started, and has not."""


class NotConfirmed(Refused):
    """A command that cannot be undone asks first, and it was not confirmed, or there was nobody to ask."""


class NotExposed(Refused):
    """A report came about a person who, as far as the study knows, did not see the arm."""


class NoConsent(Refused):
    """The person of a device did not agree to take part in studies: it stores and sends nothing."""


class Conflict(Refused):
    """The request contradicts what is stored, which stays: it came before with other content, or a name is taken."""


class Late(Refused):
    """The time in which this could be done has passed."""


class Unauthorized(Refused):
    """A key or a signature is missing, wrong or revoked."""


class Forbidden(Refused):
    """The role of a key does not allow this, or not for this study."""


class TooLarge(Refused):
    """A request has too many bytes."""


class TooMany(Refused):
    """Requests come faster than is allowed; later it can be done."""


class StoreError(MaskedBanditError):
    """The database of a study cannot be used. Nothing that was not acknowledged before counts as done."""


class StorageFailed(StoreError):
    """The disk is full or failed, or the server is away."""


class FencedOff(StoreError):
    """Another process holds the study."""


class BehindWitness(StoreError):
    """The ledger is older than its witness, or another one: this is a restored copy, or a clone."""


class UnknownSchema(StoreError):
    """The tables were made by another version of this package."""


class Corrupted(StoreError):
    """A row is not what the ledger says. It is never repaired silently."""


class Contradicted(MaskedBanditError):
    """A privacy statement contradicts the ledger, or is not of this study."""


class BiasedLog(MaskedBanditError):
    """A log states probabilities that its visits contradict; all estimates from it would be wrong."""


class ResultsExist(MaskedBanditError):
    """A folder already holds results, and the run was not asked to resume them."""


class WorkersLost(MaskedBanditError):
    """Workers of an executor ended again and again, or cannot be replaced. The runs that they had are not done."""


class ProtocolError(MaskedBanditError):
    """A protocol stopped before its end. The party that raises it has forgotten its secrets."""


class Malformed(ProtocolError):
    """Bytes are not a message of the expected kind."""


class OutOfTurn(ProtocolError):
    """A message belongs to another session or phase, or came before."""


class Forged(ProtocolError):
    """A signature, a seal or a proof is wrong."""


class Disagreement(ProtocolError):
    """Another party's message contradicts what is known."""


class TooFew(ProtocolError):
    """Too few devices are left for a sum that hides its terms."""


class Implausible(ProtocolError):
    """A sum that no honest cohort gives: some device sent an impossible value."""


class AlreadySpent(ProtocolError):
    """A user took part in a cohort before; a user takes part in one cohort only."""
