/** A place with a shuffler, held to what the person agreed to. */
import { boundPower, coinsNeeded, hide } from "./coins.js";
import { refuseValue } from "./errors.js";
import { Fraction, divideUp } from "./fractions.js";
import { checkOfferedPerson, shareNoise } from "./offer_prices.js";
import { type Offer, compareOffers } from "./offers.js";
import { type PinnedOperators, SERVICE_URL } from "./operators.js";
import { checkPinnedKeys } from "./pinned_keys.js";
import type { OwnPlace } from "./place.js";
import { FIXED_ONE, powerAbove } from "./powers.js";
import { messagesNeeded } from "./splitting.js";

const NOTHING = new Fraction(0n);
const ONE = new Fraction(1n);
const MOST_OFFERED_COINS = 2n ** 13n; // more would be of a cohort in which each person sends thousands of messages
const LARGEST_MIXED_MODULUS = 2n ** 62n;
const MOST_MIXED_STEPS = 1_000_000n; // in one unit of reward
const LARGEST_EPSILON = new Fraction(200n); // by then delta is above 1
const LEAST_COIN_EPSILON = new Fraction(1n, 1000n);
const LEAST_SHARE_EPSILON = new Fraction(1n, 1_000_000n);
const LEAST_DELTA = new Fraction(1n, 10n ** 100n);
const LEAST_ETA = new Fraction(1n, 2n ** 256n);
const LEAST_PART = new Fraction(1n, 100n);

/** What a place costs, or a refusal. */
export async function priceMixedPlace(
  place: OwnPlace,
  pinned: PinnedOperators,
  terms: { readonly least: number; readonly delta: Fraction },
): Promise<Fraction> {
  await checkPinnedKeys(place, pinned);
  const { address } = place.operators[1]!;
  if (!SERVICE_URL.test(address)) {
    throw refuseValue("address of the helper", address, "a URL, to which this device sends its report");
  }
  const { epsilon, delta } = priceMixedOffer(place.offer, terms.least, place.outcomes[0]!.cap);
  if (delta.exceeds(terms.delta)) {
    throw refuseValue("delta of an offer", delta, `at most ${terms.delta}, to which the person agreed`);
  }
  return epsilon;
}

/** The epsilon and the delta of an offer with a shuffler, or a refusal: all other numbers follow from its terms. */
export function priceMixedOffer(offer: Offer, least: number, cap = 1): { epsilon: Fraction; delta: Fraction } {
  const epsilon = checkOfferedPerson(offer, least, "", NOTHING);
  if (cap > 1) throw refuseValue("cap of a place", cap, "1, as one reward of a person is mixed");
  const delta = offer.channel === "Shuffled" ? checkCoins(offer, epsilon) : checkShares(offer, epsilon);
  return { epsilon, delta };
}

/** The delta of an offer of coins, or a refusal. */
function checkCoins(offer: Offer, epsilon: Fraction): Fraction {
  const [delta, coins, needed] = [readTerm(offer, "delta"), readTerm(offer, "coins"), readTerm(offer, "needed")];
  if (ONE.exceeds(needed) || needed.exceeds(coins) || coins.exceeds(new Fraction(MOST_OFFERED_COINS))) {
    throw refuseValue("coins of an offer", coins, `from 1 to ${MOST_OFFERED_COINS}, as many as are needed`);
  }
  if (!isChance(delta) || !hide(MOST_OFFERED_COINS, boundPower(epsilon), delta)) {
    const allowed = `of a promise for which ${MOST_OFFERED_COINS} coins are enough`;
    throw refuseValue("epsilon and delta of an offer", [epsilon, delta], allowed);
  }
  const honest = needed.by(coins);
  refuseBelow("epsilon", epsilon, LEAST_COIN_EPSILON);
  refuseBelow("delta", delta, LEAST_DELTA);
  refuseBelow("honest", honest, LEAST_PART);
  const least = coinsNeeded(epsilon, delta);
  const all = divideUp(least * honest.under, honest.over);
  const terms = writeTerms({ coins: new Fraction(all), delta, epsilon, needed: new Fraction(least) });
  compareOffers(offer, { ...offer, channel: "Shuffled", steps: 1n, modulus: 0n, noise: null, terms });
  return delta;
}

/** The delta of an offer of noise shares, or a refusal. */
function checkShares(offer: Offer, epsilon: Fraction): Fraction {
  const { n, steps, modulus, noise } = offer;
  if (noise === null) throw refuseValue("noise of an offer", null, "that of split-and-mix");
  if (n * steps >= modulus || modulus > LARGEST_MIXED_MODULUS) {
    const allowed = `above ${n * steps}, so that sums fit, and at most ${LARGEST_MIXED_MODULUS}`;
    throw refuseValue("modulus of an offer", modulus, allowed);
  }
  const eta = readTerm(offer, "eta");
  refuseBelow("epsilon", epsilon, LEAST_SHARE_EPSILON);
  if (!isChance(eta) || LEAST_ETA.exceeds(eta)) {
    throw refuseValue("eta", eta, "a probability of at least 2^-256 and below 1");
  }
  if (steps > MOST_MIXED_STEPS) throw refuseValue("grid", steps, `a whole number from 1 to ${MOST_MIXED_STEPS}`);
  const power = new Fraction(powerAbove(epsilon.exceeds(LARGEST_EPSILON) ? LARGEST_EPSILON : epsilon), FIXED_ONE);
  const delta = ONE.plus(power).times(eta);
  if (!ONE.exceeds(delta)) {
    throw refuseValue("epsilon", epsilon, "smaller, as (1 + e^epsilon) eta, or delta, must be below 1");
  }
  const { least } = noise;
  if (least < 2n) {
    const name = `the number of honest users counted on in a cohort of ${n}`;
    throw refuseValue(name, least, "at least 2: one alone has no crowd to hide in");
  }
  const share = { ...shareNoise("DiscreteLaplace", steps, epsilon), least };
  const terms = writeTerms({ epsilon, eta, messages: new Fraction(messagesNeeded(least, modulus, eta)) });
  compareOffers(offer, { ...offer, channel: "SplitAndMix", noise: share, terms });
  return delta;
}

const readTerm = ({ terms }: Offer, name: string): Fraction => terms.get(name) ?? NOTHING;

const writeTerms = (terms: Record<string, Fraction>): Map<string, Fraction> => new Map(Object.entries(terms));

/** Whether a number is above 0 and below 1. */
const isChance = (value: Fraction): boolean => value.exceeds(NOTHING) && ONE.exceeds(value);

function refuseBelow(name: string, value: Fraction, least: Fraction): void {
  if (least.exceeds(value)) throw refuseValue(name, value, `at least ${least}`);
}
