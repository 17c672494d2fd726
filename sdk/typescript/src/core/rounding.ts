import type { Bits } from "./bits.js";
import { Fraction } from "./fractions.js";
import { bernoulli } from "./sampling.js";

/** A number from 0 to 1 as whole steps, at random so that its mean is kept. */
export function roundOutcome(scaled: Fraction, steps: bigint, bits: Bits): bigint {
  const { over, under } = scaled.times(new Fraction(steps));
  const whole = over / under;
  return whole + (bernoulli(new Fraction(over % under, under), bits) ? 1n : 0n);
}
