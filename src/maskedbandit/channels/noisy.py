"""The common part of central, distributed and local trust: integer noise for an ε, on a grid of g steps."""

from abc import ABC
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from maskedbandit.channels.channel import Carrier, check_cohort_size, check_epsilon
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.privacy.exact import Number


@dataclass(frozen=True)
class NoisyChannel(Carrier, ABC):
    """A channel that adds `noise`, stretched so that one whole draw hides a reward at privacy `epsilon`.

    With discrete Laplace noise of scale 1 `epsilon` is the pure loss; with Skellam and discrete Gaussian noise it sets
    the standard deviation 1 / ε, and `loss(n)` has the loss that follows. `grid` is a number of steps in one unit of
    reward, a `Grid`, or "paper": fineness 1 for discrete Laplace, 10 for the others [CZ23, App. J].

    A vector has the noise of its norm, in sum (discrete Laplace) or in squares (the others), on each of its numbers, so
    `epsilon` means the same for a whole vector. Its own steps are divided by a `grid` of a fixed number.
    """

    epsilon: Number = 1
    noise: Noise = field(default_factory=DiscreteLaplace)
    grid: Grid | int | Literal["paper"] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if not isinstance(self.noise, Noise):
            raise InvalidValue("noise", self.noise, "a noise, such as DiscreteLaplace()")
        grid = self.grid
        if grid == "paper":
            grid = Grid(fineness=Fraction(1 if isinstance(self.noise, DiscreteLaplace) else 10))
        object.__setattr__(self, "grid", grid if isinstance(grid, Grid) else Grid(grid))
        assert isinstance(self.grid, Grid)
        if self.grid.fineness > 0 and not self.statistics.is_single:
            raise InvalidValue("grid", self.grid, "a number of steps: vectors are whole numbers of steps already")

    def steps(self, n: int) -> int:
        """Steps in one unit of reward, for a cohort of n."""
        assert isinstance(self.grid, Grid)
        check_cohort_size(n)
        return self.grid.steps(Fraction(self.epsilon), n) * self.statistics.steps

    def release_noise(self, n: int) -> Noise:
        """The noise of which one draw hides a reward in the sum of a cohort of n."""
        return self.noise.stretch(self.noise.norm(self.statistics) * self.steps(n) / Fraction(self.epsilon))

    def offer(self, n: int, modulus: int = 0) -> Offer:
        noise = self.release_noise(n)
        offer = Offer(
            type(self).__name__, int(n), self.steps(n), noise=NoiseShare(type(noise).__name__, noise.scale, 1)
        )
        return offer.also(epsilon=self.epsilon, **self.terms_of_statistics())

    @property
    def draws(self) -> Any:
        return self.noise.draws

    def noise_law(self, per_release: float = 0.0, per_pull: float = 0.0, honest: float = 1.0) -> Law:
        """The distribution of so many draws: `per_release` in each release, and `per_pull` for each user."""
        assert isinstance(self.grid, Grid)
        if not (per_release > 0 or per_pull > 0):  # else the lab would add no noise
            raise InvalidValue("per_release and per_pull", (per_release, per_pull), "above 0, at least one of them")
        epsilon = Fraction(self.epsilon)
        return Law(
            self.noise.kind,
            scale=float(self.noise.scale * self.noise.norm(self.statistics) / epsilon),
            grid=float(self.grid.fixed * self.statistics.steps),
            root=float(self.grid.fineness * epsilon),
            per_release=per_release,
            per_pull=per_pull,
            honest=honest,
            variance=self.noise.variance,
            tail=self.noise.tail,
        )
