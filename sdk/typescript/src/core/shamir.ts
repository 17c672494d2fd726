/**
 * Shamir's secret sharing: any t key shares give the secret back, and t - 1 of them reveal nothing. Only devices split
 * secrets, and only the service puts them together: see secagg/shamir.py, which draws the same numbers.
 */
import type { Bits } from "./bits.js";

const PRIME = 2n ** 130n - 5n;

/** The key share of a secret at each of these points, which are different and above 0. */
export function splitSecret(secret: bigint, threshold: bigint, points: readonly bigint[], bits: Bits): bigint[] {
  const coefficients: bigint[] = [];
  for (let drawn = 1n; drawn < threshold; drawn += 1n) coefficients.push(bits.below(PRIME));
  return points.map((point) => {
    const above = coefficients.reduce((sum, each) => ((sum + each) * point) % PRIME, 0n);
    return (above + secret) % PRIME;
  });
}
