/**
 * How many neighbours a device has in a round, and how many of them must answer: the same whole numbers as those of
 * secagg/parameters.py, which says what they are for and proves them, where the server follows the protocol.
 */
import { refuseValue } from "./errors.js";

/** How many neighbours each device has, and the least and the largest threshold allowed. */
export interface Neighbourhood {
  readonly k: bigint;
  readonly least: bigint;
  readonly most: bigint;
}

const SECRECY = 41n; // each of two failures has a probability below 2^-this
const CORRECTNESS = 20n;
const SPARE_BITS = 128n; // of the numbers with which tails are computed

/** The least even k below n - 1 and up to `most` that a threshold fits, or else the complete graph. */
export function chooseNeighbours(n: bigint, corrupted: bigint, lost: bigint, most: bigint): Neighbourhood {
  const safe = completeGraph(n, corrupted, lost);
  for (let k = 2n; k < n - 1n && k <= most; ) {
    const [a, b] = [boundMarked(n, corrupted, k, SECRECY), boundMarked(n, lost, k, CORRECTNESS)];
    const found = { k, least: chooseThreshold(a), most: k - b };
    const short = found.least - found.most;
    if (short <= 0n && isConnected(n, corrupted + lost, k)) return found;
    const step = short + (short % 2n);
    k += step > 2n ? step : 2n;
  }
  return safe;
}

/** All others are neighbours. */
export function completeGraph(n: bigint, corrupted: bigint, lost: bigint): Neighbourhood {
  if (n < 3n) throw refuseValue("n", n, "at least 3 users");
  if (corrupted < 0n || corrupted > n - 2n) {
    throw refuseValue("corrupted", corrupted, `from 0 to ${n - 2n} of ${n} users: two must be honest`);
  }
  const [k, least] = [n - 1n, chooseThreshold(corrupted)];
  if (lost < 0n || lost > k - least) {
    throw refuseValue("lost", lost, `from 0 to ${k - least} of ${n} users, if ${corrupted} are corrupted`);
  }
  return { k, least, most: k - lost };
}

/** The least threshold where at most so many neighbours are corrupted. */
const chooseThreshold = (corrupted: bigint): bigint => (corrupted > 1n ? corrupted + 1n : 2n);

/** The least number with n P(Hyp(n-1, marked, k) > it) < 2^-power: nobody has more marked neighbours. */
function boundMarked(n: bigint, marked: bigint, k: bigint, power: bigint): bigint {
  const one = 1n << (power + SPARE_BITS);
  const [mode, last] = [((k + 1n) * (marked + 1n)) / (n + 1n), marked < k ? marked : k];
  let whole = 0n;
  let term = one;
  for (let j = mode - 1n; j >= 0n && term; j -= 1n) {
    term = (term * (j + 1n) * (n - marked - k + j)) / ((marked - j) * (k - j));
    whole += term;
  }
  const above = [one];
  term = one;
  for (let j = mode; j < last && term > 1n; j += 1n) {
    const under = (j + 1n) * (n - marked - k + j);
    term = (term * (marked - j) * (k - j) + under - 1n) / under;
    above.push(term);
  }
  const count = BigInt(above.length);
  whole = above.reduce((sum, each) => sum + each, whole) - count * count; // each is rounded up by less than the count
  let more = last - (mode + count - 1n);
  for (let j = mode + count - 1n; ; j -= 1n) {
    more += above.pop()!;
    if ((n * more) << power >= whole) return j;
  }
}

/** Whether two runs of k/2 bad users that cut the ring in two are so rare. */
const isConnected = (n: bigint, bad: bigint, k: bigint): boolean =>
  k > bad || (n * (n - k - 1n) * permute(bad, k)) << SECRECY < 2n * permute(n, k);

/** n (n - 1) ... (n - k + 1). */
function permute(n: bigint, k: bigint): bigint {
  let product = 1n;
  for (let factor = n; factor > n - k; factor -= 1n) product *= factor;
  return product;
}
