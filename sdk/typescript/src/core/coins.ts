/** How many fair coins hide one bit among them, as channels/shuffled.py computes and proves it. */
import { Fraction } from "./fractions.js";
import { FIXED_ONE, powerBelow } from "./powers.js";

const LARGEST_POWER = new Fraction(60n); // by then e^epsilon is above the number of coins

/** Whether so many coins are enough for (epsilon, delta), for an epsilon whose power this is. */
export function hide(coins: bigint, power: bigint, delta: Fraction): boolean {
  const last = ((coins + 1n) * FIXED_ONE - 1n) / (power + FIXED_ONE);
  let [below, r] = [0n, FIXED_ONE];
  for (let z = last; r && z; z -= 1n) {
    r = (r * z) / (coins + 1n - z);
    below += r;
  }
  let total = below + FIXED_ONE;
  r = FIXED_ONE;
  for (let z = last + 1n; z <= coins / 2n; z += 1n) {
    r = (r * (coins + 1n - z)) / z;
    total += r;
  }
  total = 2n * total - (coins % 2n ? 0n : r); // the middle counts once, all else twice
  return (FIXED_ONE * FIXED_ONE - (power - FIXED_ONE) * below) * delta.under <= delta.over * total * FIXED_ONE;
}

/** At most e^epsilon, as far as it matters. */
export const boundPower = (epsilon: Fraction): bigint =>
  powerBelow(epsilon.exceeds(LARGEST_POWER) ? LARGEST_POWER : epsilon);

/** The least number of fair coins that hide one bit among them. */
export function coinsNeeded(epsilon: Fraction, delta: Fraction): bigint {
  const power = boundPower(epsilon);
  let enough = 1n;
  while (!hide(enough, power, delta)) enough *= 2n;
  let few = enough / 2n;
  while (enough - few > 1n) {
    const middle = (few + enough) / 2n;
    if (hide(middle, power, delta)) enough = middle;
    else few = middle;
  }
  return enough;
}
