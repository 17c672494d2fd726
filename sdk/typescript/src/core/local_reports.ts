/** A report under local trust: the noise is drawn here, and whoever gets it, the service included, sees no outcome. */
import type { Bits } from "./bits.js";
import type { Fraction } from "./fractions.js";
import { writeHex } from "./hex.js";
import type { Offer } from "./offers.js";
import { roundOutcome } from "./rounding.js";
import { bernoulliExp, discreteGaussian, discreteLaplace } from "./sampling.js";
import type { Draw } from "./words.js";

const VALUE_WIDTH = 17; // characters: a sign, and the digits of 2^53, up to which services take numbers
const PROOF_BYTES = 16;
const DEVICE_NOISES: Record<string, (scale: Fraction, bits: Bits) => bigint> = {
  DiscreteLaplace: discreteLaplace,
  DiscreteGaussian: (scale, bits) => discreteGaussian(scale.times(scale), bits),
};

/**
 * What a device sends in place of an outcome that was scaled to [0, 1], with noise that is drawn now, before the
 * outcome is looked at. Under an offer that was priced it costs that.
 */
export function drawLocalValue(offer: Offer, scaled: Fraction, bits: Bits): bigint {
  if (offer.noise === null) return randomizeResponse(scaled, offer.terms.get("epsilon")!, bits);
  const noise = DEVICE_NOISES[offer.noise.noise]!(offer.noise.scale, bits);
  return roundOutcome(scaled, offer.steps, bits) + noise;
}

/** One bit, flipped with probability 1 / (1 + e^epsilon). */
export function randomizeResponse(scaled: Fraction, epsilon: Fraction, bits: Bits): bigint {
  let flip = false;
  while (!flip && bits.below(2n)) flip = bernoulliExp(epsilon, bits); // a fair coin, then one of e^-epsilon
  return roundOutcome(scaled, 1n, bits) ^ (flip ? 1n : 0n);
}

/** The body of the request that carries it, of one size whatever it says. */
export function writeLocalReport(ticket: string, value: bigint, metric: string, draw: Draw): string {
  const [width, proof] = [`${value}`.padStart(VALUE_WIDTH), writeHex(draw(PROOF_BYTES))];
  return `{"ticket":"${ticket}","value":${width},"metric":"${metric}","proof":"${proof}"}`;
}
