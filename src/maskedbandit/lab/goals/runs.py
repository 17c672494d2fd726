"""The runs of a simulation, their random streams and their executor: all that it is told besides its task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, get_args

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.each_run import Task, Workers, each_run, number_runs
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.privacy.exact import to_whole

T = TypeVar("T")


class RunOptions(TypedDict, total=False):
    """The keywords of every simulation besides `runs` and `seed`; `simulate` explains them."""

    study: str
    executor: Workers
    advance: Callable[[], object]
    delay: Delay
    runs_from: int


class ReleaseOptions(RunOptions, total=False):
    """The keywords of simulations that may keep releases."""

    keep_releases: bool


@dataclass(frozen=True)
class Runs:
    """Runs of a setting; this is where the defaults of the keywords stand."""

    runs: int = 1
    seed: int = 0
    study: str = ""  # names the random streams
    executor: Workers = Threads
    advance: Callable[[], object] = lambda: None  # is called for every run that is done
    delay: Delay = AT_ONCE  # how late rewards are
    runs_from: int = 0  # the number of the first run
    keep_releases: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", to_whole("seed", self.seed, 0))
        number_runs(self.runs, self.runs_from)
        if not isinstance(self.keep_releases, bool):
            raise InvalidValue("keep_releases", self.keep_releases, "true or false")

    @classmethod
    def of(cls, verb: Callable[..., object], runs: int, seed: int, how: Mapping[str, Any]) -> "Runs":
        """The runs that a verb is asked for. An unknown keyword is refused, as by every function."""
        (options,) = get_args(verb.__annotations__["how"])
        if wrong := sorted(how.keys() - options.__optional_keys__):
            raise TypeError(f"{verb.__name__}() got an unexpected keyword argument {wrong[0]!r}")
        return cls(runs, seed, **how)

    def do(self, task: Task[T]) -> list[T]:
        """The results of these runs of a task, in order."""
        return each_run(task, number_runs(self.runs, self.runs_from), self.executor, self.advance)
