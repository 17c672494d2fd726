/** Split-and-mix: messages that add up to a value, and how many there must be, as shuffle/splitting.py proves it. */
import type { Bits } from "./bits.js";
import { Fraction, divideUp } from "./fractions.js";

const LEAST_COMPUTED = 64n;
const MOST_COMPUTED = 512n;
const ONE = new Fraction(1n);

/** So many messages that add up to the value; all but one of them are uniform and independent. */
export function splitValue(value: bigint, many: bigint, modulus: bigint, bits: Bits): bigint[] {
  const messages: bigint[] = [];
  let left = value;
  for (let at = 1n; at < many; at += 1n) {
    const message = bits.below(modulus);
    messages.push(message);
    left -= message;
  }
  return [...messages, ((left % modulus) + modulus) % modulus];
}

/** The least number of messages with which so many honest people are hidden to within eta. */
export function messagesNeeded(honest: bigint, modulus: bigint, eta: Fraction): bigint {
  const most = new Fraction(4n).times(eta).times(eta);
  const digits = 2n * (countDigits(eta.under) - countDigits(eta.over)) + countDigits(modulus) + 64n;
  let many = 2n;
  while (!proves(honest, modulus, many, most, digits)) many += 1n;
  return many;
}

/** Binary digits of a number above 0. */
const countDigits = (number: bigint): bigint => BigInt(number.toString(2).length);

/** n (n - 1) ... of k numbers. */
function multiplyDown(n: bigint, k: bigint): bigint {
  let product = 1n;
  for (let at = 0n; at < k; at += 1n) product *= n - at;
  return product;
}

/** Whether e(n) is proved to be at most `most`, for k messages of each of n people. */
function proves(n: bigint, q: bigint, k: bigint, most: Fraction, digits: bigint): boolean {
  if (beginsAbove(most, n, q, k)) return false; // no need to compute further
  if (n >= MOST_COMPUTED && (k < 3n || beginsAbove(ONE, MOST_COMPUTED / 2n, q, k))) return false;
  const unit = 1n << digits;
  const rows = excesses(q, k, unit);
  let e = 0n;
  const found = [e];
  for (let half = LEAST_COMPUTED / 2n; ; half *= 2n) {
    while (found.length < 2n * half && found.length <= n) found.push((e = rows.next().value));
    if (n < found.length) return e * most.under <= most.over * unit;
    const [early, late] = [found.filter((_, m) => m < half), found.filter((_, m) => m >= half)];
    if (k >= 3n && findLargest(late) <= unit && rest(2n * half, q, k, early, unit) <= unit) {
      return rest(n, q, k, early, unit) * most.under <= most.over * unit;
    }
    if (2n * half === MOST_COMPUTED) return false;
  }
}

/** Whether a lower bound on the bound of e(n) is above a limit. */
function beginsAbove(limit: Fraction, n: bigint, q: bigint, k: bigint): boolean {
  const half = n > 2n ? 1n : 2n;
  const first = (q - 1n) * n * n * multiplyDown(k, k);
  return first * limit.under > limit.over * half * multiplyDown(n * k, k);
}

/** e(1), e(2), ... in fixed point, rounded upwards: one row of the recursion after another. */
function* excesses(q: bigint, k: bigint, unit: bigint): Generator<bigint, never> {
  const first = multiplyDown(k, k);
  let blocks = [first]; // (ak + k)! / (ak)!, that of the largest a first
  let terms: bigint[] = []; // (1 - m/n) w(n, m) x(m), for m = 1, ..., n - 1
  for (let n = 1n; ; n += 1n) {
    const e = terms.reduce((sum, term) => sum + term, 0n);
    yield e;
    const older = blocks;
    const newest = multiplyDown(n * k + k, k);
    blocks = [newest, ...older];
    terms = terms.map((term, at) => {
      const m = BigInt(at) + 1n;
      return divideUp(term * n * (n + 1n) * older[at]!, (n - m) * (n + 1n - m) * newest);
    });
    terms.push(divideUp(((q - 1n) * unit + q * e) * (n + 1n) * first, newest));
  }
}

/** r(n) where e(0), ..., e(M - 1) are known, in fixed point, rounded upwards. */
function rest(n: bigint, q: bigint, k: bigint, known: bigint[], unit: bigint): bigint {
  const fine = unit * findLargest(known) + unit; // as w(n, m) may be as small as x(m) is large
  let [w, total] = [fine, 0n];
  for (const [at, excess] of [...known.slice(1), null].entries()) {
    const m = BigInt(at) + 1n;
    const [alone, others] = [multiplyDown(m * k, k), multiplyDown((n - m + 1n) * k, k)];
    w = divideUp(w * (n - m + 1n) ** 2n * alone, m ** 2n * others);
    if (excess === null) total += 2n * q * n * w * unit;
    else total += w * ((q - 1n) * unit + q * excess) + divideUp(2n * q * m * w * unit, n);
  }
  return divideUp(total, fine);
}

const findLargest = (numbers: bigint[]): bigint => numbers.reduce((most, each) => (each > most ? each : most));
