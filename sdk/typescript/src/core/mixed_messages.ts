/** The messages of a device with a shuffler: the same words make the same ones as the channels in Python. */
import type { Bits } from "./bits.js";
import { Fraction } from "./fractions.js";
import { drawNoiseShare } from "./noise_shares.js";
import type { Offer } from "./offers.js";
import { roundOutcome } from "./rounding.js";
import { splitValue } from "./splitting.js";

const WORD = 64n; // bits of a word, each of which is a coin

/** What all messages of a cohort are below. */
export const findBound = (offer: Offer): bigint => (offer.channel === "Shuffled" ? 2n : offer.modulus);

/**
 * The messages that say so many steps, under an offer that was priced. Their noise is drawn before the outcome is
 * looked at.
 */
export function drawBundle(offer: Offer, steps: bigint, bits: Bits): bigint[] {
  const scaled = new Fraction(steps, offer.steps);
  if (offer.channel === "Shuffled") {
    const tossed = countTossed(offer);
    const ones = tossCoins(tossed, bits);
    return writeOnes(ones + roundOutcome(scaled, 1n, bits), tossed + 1n);
  }
  const noise = drawNoiseShare(offer.noise!, bits);
  const value = roundOutcome(scaled, offer.steps, bits) + noise;
  return splitValue(value, offer.terms.get("messages")!.over, offer.modulus, bits);
}

/** How many of the coins of a cohort the person of this place tosses. */
function countTossed({ n, position, terms }: Offer): bigint {
  const coins = terms.get("coins")!.over;
  return (coins * (position! + 1n)) / n - (coins * position!) / n;
}

/** How many of so many fair coins are ones. */
function tossCoins(many: bigint, bits: Bits): bigint {
  let ones = 0n;
  for (let left = many / WORD; left; left -= 1n) ones += countOnes(bits.below(1n << WORD));
  return ones + countOnes(bits.below(1n << (many % WORD)));
}

function countOnes(word: bigint): bigint {
  let ones = 0n;
  for (let left = word; left; left >>= 1n) ones += left & 1n;
  return ones;
}

/** So many messages, of which so many are ones: the shuffler mixes them. */
function writeOnes(ones: bigint, many: bigint): bigint[] {
  const messages: bigint[] = [];
  for (let at = 0n; at < many; at += 1n) messages.push(at < ones ? 1n : 0n);
  return messages;
}
