/** Powers of e in fixed point, from below and from above: the same numbers as those of privacy/powers.py. */
import { type Fraction, divideUp } from "./fractions.js";

export const FIXED_ONE = 1n << 192n; // the number 1 in fixed point

/** At most e^x, for x of at least 0: the series, cut off, with every term rounded down. */
export function powerBelow({ over, under }: Fraction): bigint {
  let [total, term] = [FIXED_ONE, FIXED_ONE];
  for (let i = 1n; term; i += 1n) {
    term = (term * over) / (under * i);
    total += term;
  }
  return total;
}

/**
 * At least e^x, for x of at least 0: the series, with every term rounded up. It ends where terms halve at least, so
 * that those left out come to no more than the last one.
 */
export function powerAbove({ over, under }: Fraction): bigint {
  let [total, term] = [FIXED_ONE, FIXED_ONE];
  for (let i = 1n; term > 1n || (i - 1n) * under < 2n * over; i += 1n) {
    term = divideUp(term * over, under * i);
    total += term;
  }
  return total + term;
}
