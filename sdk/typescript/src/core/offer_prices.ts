/** What an offer costs the person who takes part: from its own text, and from nothing that a service says beside it. */
import { refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import { type NoiseShare, type Offer, compareOffers } from "./offers.js";

const MOST_OFFERED_STEPS = 2n ** 20n; // in one unit of reward
const LEAST_OFFERED_EPSILON = new Fraction(1n, 1_000_000n); // of local trust: numbers with more noise might not be sent
const NOTHING = new Fraction(0n);

/** The epsilon of an offer of local trust, or a refusal; unless `pure`, noise may be discrete Gaussian. */
export function priceLocalOffer(offer: Offer, least: number, cap = 1, metric = "", pure = true): Fraction {
  const epsilon = checkOfferedPerson(offer, least, metric, LEAST_OFFERED_EPSILON);
  const { channel, steps } = offer;
  if (channel === "Response") {
    checkPromise(offer, channel, 1n, 0n, null, epsilon, cap);
  } else if (channel === "Local") {
    const noises = pure ? ["DiscreteLaplace"] : ["DiscreteLaplace", "DiscreteGaussian"];
    const noise = offer.noise?.noise ?? null;
    if (noise === null || !noises.includes(noise)) {
      throw refuseValue("noise of an offer", noise, `${noises.join(" or ")}, to which the person agreed`);
    }
    checkPromise(offer, channel, steps, 0n, shareNoise(noise, steps, epsilon), epsilon, cap);
  } else {
    throw refuseValue("channel of an offer", channel, "Local or Response, if no operators are named");
  }
  return epsilon;
}

/** The epsilon that an offer states, or a refusal if it is not one to a person in such a cohort. */
export function checkOfferedPerson(offer: Offer, least: number, metric: string, leastEpsilon: Fraction): Fraction {
  const { n, steps } = offer;
  if (offer.position === null) {
    throw refuseValue("position of an offer", null, "the place in the cohort, from 0 to n - 1");
  }
  if (offer.metric !== metric) {
    const allowed = metric ? `${metric}, an outcome of the place` : "left out: this offer is for the reward";
    throw refuseValue("metric of an offer", offer.metric, allowed);
  }
  if (n < BigInt(least)) throw refuseValue("n of an offer", n, `at least ${least}, to which the person agreed`);
  if (steps < 1n || steps > MOST_OFFERED_STEPS) {
    throw refuseValue("steps of an offer", steps, `a whole number from 1 to ${MOST_OFFERED_STEPS}`);
  }
  const epsilon = offer.terms.get("epsilon") ?? NOTHING;
  if (!epsilon.exceeds(NOTHING) || leastEpsilon.exceeds(epsilon)) {
    throw refuseValue("epsilon of an offer", epsilon, leastEpsilon.over ? `at least ${leastEpsilon}` : "above 0");
  }
  return epsilon;
}

/** A whole draw of noise, at this epsilon. */
export const shareNoise = (noise: string, steps: bigint, epsilon: Fraction): NoiseShare => ({
  noise,
  scale: new Fraction(steps).by(epsilon),
  least: 1n,
});

/** Throw unless an offer states all that follows from its epsilon, and the cap of the person's rewards. */
export function checkPromise(
  offer: Offer,
  channel: string,
  steps: bigint,
  modulus: bigint,
  noise: NoiseShare | null,
  epsilon: Fraction,
  cap: number,
): void {
  const terms = new Map([["epsilon", epsilon]]);
  if (cap > 1) terms.set("cap", new Fraction(BigInt(cap)));
  compareOffers(offer, { channel, n: offer.n, steps, modulus, noise, terms, position: null, metric: "" });
}
