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

/** A part of a geometric: n draws of shape 1/n sum to one, whose coins have the probability e^-rate. */
export function polya(shape: Fraction, rate: Fraction, bits: Bits): bigint {
  checkRatio("shape", shape, 1n);
  checkRatio("rate", rate, 1n);
  const [{ over: a, under: b }, { over: s, under: t }] = [shape, rate];
  let whole = 0n;
  for (let left = a / b; left; left -= 1n) whole += drawGeometric(s, t, bits);
  return a % b ? whole + drawPart(a % b, b, s, t, bits) : whole;
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

/** `polya` of shape a/b < 1 and rate s/t. */
function drawPart(a: bigint, b: bigint, s: bigint, t: bigint, bits: Bits): bigint {
  const length = divideUp(t, s);
  for (;;) {
    if (bits.below(b + a * length) < b) {
      if (!tossCoin(s * length, t, bits)) return 0n;
      continue;
    }
    let x = 1n + bits.below(length);
    if (!tossCoin(s * x, t, bits)) continue;
    while (tossCoin(s * length, t, bits)) x += length;
    let i = 2n;
    while (i <= x && bits.below(i * b) < a + (i - 1n) * b) i += 1n;
    if (i > x) return x;
  }
}

/** The largest whole number whose square is not above n. */
function takeRoot(n: bigint): bigint {
  let root = n;
  for (let next = (root + 1n) / 2n; next < root; next = (root + n / root) / 2n) root = next;
  return root;
}
