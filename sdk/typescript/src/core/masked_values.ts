import type { Bits } from "./bits.js";
import { Fraction } from "./fractions.js";
import { drawNoiseShare } from "./noise_shares.js";
import type { OwnOutcome } from "./outcomes.js";
import { roundOutcome } from "./rounding.js";

/** What a device adds to the sum of its cohort, below the modulus: what holds of its outcome, with a noise share. */
export function drawMaskedValue(outcome: OwnOutcome, held: string | null, bits: Bits): bigint {
  const { noise, steps, modulus } = outcome.offer;
  const share = drawNoiseShare(noise!, bits); // before the outcome is looked at
  const scaled = outcome.scaleOutcome(held === null ? null : Fraction.fromText(held));
  const value = roundOutcome(scaled, steps, bits) + share;
  return ((value % modulus) + modulus) % modulus;
}
