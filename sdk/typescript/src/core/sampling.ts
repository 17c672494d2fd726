/**
 * Exact draws from exact numbers: nothing that protects a person is computed with a floating-point number. Each of
 * these takes the same words as its namesake of privacy/sampling.py, and gives the same draws.
 */
import type { Bits } from "./bits.js";
import { refuseValue } from "./errors.js";
import { type Fraction, divideUp } from "./fractions.js";

/** A coin of probability p. */
export function bernoulli(p: Fraction, bits: Bits): boolean {
  checkRatio("p", p, 0n);
  if (p.over > p.under) throw refuseValue("p", p, "a fraction from 0 to 1");
  return bits.below(p.under) < p.over;
}

/** A coin of probability e^-gamma. */
export function bernoulliExp(gamma: Fraction, bits: Bits): boolean {
  checkRatio("gamma", gamma, 0n);
  return tossCoin(gamma.over, gamma.under, bits);
}

/** P(z) proportional to e^(-|z| / scale). */
export function discreteLaplace(scale: Fraction, bits: Bits): bigint {
  checkRatio("scale", scale, 1n);
  return drawLaplace(scale.under, scale.over, bits);
}

/** P(z) proportional to e^(-z² / (2 variance)). */
export function discreteGaussian(variance: Fraction, bits: Bits): bigint {
  checkRatio("variance", variance, 1n);
  const { over: p, under: q } = variance;
  const t = takeRoot(p / q) + 1n;
  for (;;) {
    const y = drawLaplace(1n, t, bits);
    const size = y < 0n ? -y : y;
    if (tossCoin((size * q * t - p) ** 2n, 2n * p * q * t * t, bits)) return y;
  }
}

/** The number of e^-rate coins that succeed before the first failure. */
export function geometric(rate: Fraction, bits: Bits): bigint {
  checkRatio("rate", rate, 1n);
  return drawGeometric(rate.over, rate.under, bits);
}

/**
 * So many parts of a geometric, each of this shape: n of shape 1/n sum to one, whose coins have the probability
 * e^-rate. The pieces of geometrics are dealt among the draws: see the proof beside its namesake.
 */
export function drawPolyas(count: number, shape: Fraction, rate: Fraction, bits: Bits): bigint[] {
  checkRatio("shape", shape, 1n);
  checkRatio("rate", rate, 1n);
  const draws = BigInt(count);
  const [all, part] = [draws * shape.over, shape.under];
  const geometrics = divideUp(all, part);
  let found = new Array<bigint>(count).fill(0n);
  for (let drawn = 0n; drawn < geometrics; drawn += 1n) {
    let left = drawGeometric(rate.over, rate.under, bits);
    while (left) {
      const piece = 1n + bits.below(left);
      left -= piece;
      if (bits.below(geometrics * part) >= all) continue;
      const to = bits.below(draws);
      found = found.map((sum, draw) => (BigInt(draw) === to ? sum + piece : sum));
    }
  }
  return found;
}

function checkRatio(name: string, value: Fraction, least: bigint): void {
  if (value.over < least) throw refuseValue(name, value, least ? "above 0" : "at least 0");
}

/** True with probability e^(-a/b). */
function tossCoin(a: bigint, b: bigint, bits: Bits): boolean {
  for (; a > b; a -= b) if (!tossCoin(1n, 1n, bits)) return false;
  let k = 1n;
  while (bits.below(b * k) < a) k += 1n;
  return k % 2n === 1n;
}

/** P(x) proportional to e^(-x s/t). */
function drawGeometric(s: bigint, t: bigint, bits: Bits): bigint {
  let x = bits.below(t);
  while (!tossCoin(x, t, bits)) x = bits.below(t);
  while (tossCoin(1n, 1n, bits)) x += t;
  return x / s;
}

/** P(z) proportional to e^(-|z| s/t): a geometric with a sign, where minus zero is rejected. */
function drawLaplace(s: bigint, t: bigint, bits: Bits): bigint {
  for (;;) {
    const negative = bits.below(2n) < 1n;
    const x = drawGeometric(s, t, bits);
    if (!negative) return x;
    if (x) return -x;
  }
}

/** The largest whole number whose square is not above n. */
function takeRoot(n: bigint): bigint {
  let root = n;
  for (let next = (root + 1n) / 2n; next < root; next = (root + n / root) / 2n) root = next;
  return root;
}
