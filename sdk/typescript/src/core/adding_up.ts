/**
 * This device in the round of its cohort: what it answers in each phase, the same however often it is asked.
 *
 * What is here changes nothing: it says what is to be kept, and whoever keeps it sends the answer afterwards. The
 * outcome, with a noise share, and the seed of all secrets of the attempt are kept with the first answer, and each
 * further one follows from these. So a page that was closed goes on with the same answers on the next one. A device
 * joins each attempt once, with fresh noise and fresh keys, and none after the sum was agreed to.
 *
 * **Guarantee**: of an attempt the device sends one masked value, and reveals key shares for one list of devices. A sum
 * that it helps to open has at least as many values as the plan says, its own included.
 */
import { shake256 } from "@noble/hashes/sha3.js";
import { Bits } from "./bits.js";
import { type Bytes, encodeText, joinBytes, writeBase64, writeWhole } from "./bytes.js";
import { digestOffer } from "./digests.js";
import { MaskedBanditError } from "./errors.js";
import { readHex, writeHex } from "./hex.js";
import { drawMaskedValue } from "./masked_values.js";
import { KEY, readWhole } from "./masks.js";
import type { OwnPlace } from "./place.js";
import { RoundClient } from "./round_client.js";
import { readBody, refuseTurn } from "./round_messages.js";
import { planRound, readRounds } from "./round_plan.js";
import { drawBytes } from "./words.js";

const MASKING = 2; // the phase in which a device sends its masked value, counted from 0
const AGREEING = 3; // that in which it agrees to a list of devices, and answers for the last time
const LARGEST_COUNT = Number.MAX_SAFE_INTEGER;
const LEAVING = new Set(["malformed", "out_of_turn", "forged", "disagreement", "too_few", "invalid_value"]);

/** What a device is told of a round, and checks. */
export interface RoundTerms {
  readonly cohort: number;
  readonly attempt: number; // counted from 1
  readonly n: number; // places of the cohort
  readonly ring: string; // the hash of the seed of the ring, in hexadecimal
}

/** What is due from it. */
export interface RoundDue {
  readonly terms: RoundTerms;
  readonly phase: number;
  readonly message: Bytes; // what it is to answer
}

/** A message that was answered; with no answer the device has left the attempt. */
export interface KeptStep {
  readonly phase: number;
  readonly received: string; // base64
  readonly sent: string;
}

/** An attempt that the device joined. */
export interface KeptRound {
  readonly terms: RoundTerms;
  readonly secrets: { readonly value: string; readonly seed: string } | null; // null once it is over for the device
  readonly steps: readonly KeptStep[];
  readonly masked: { readonly made: number; readonly says: number; readonly size: number } | null; // for the person
}

/** What a device answers, in base64, and all that it keeps afterwards; null if it keeps what it kept. */
export interface RoundAnswer {
  readonly sent: string;
  readonly rounds: readonly KeptRound[] | null;
}

/** What the service says is due, or null if nothing is, or it cannot be read. */
export function readDue(given: unknown): RoundDue | null {
  const { cohort, attempt, n, phase, ring, message } = (given ?? {}) as Record<string, unknown>;
  const isCount = (each: unknown): each is number => Number.isInteger(each) && 0 <= (each as number);
  if (!isCount(cohort) || !isCount(attempt) || !isCount(n) || !isCount(phase)) return null;
  if (Math.max(cohort, attempt, n, phase) > LARGEST_COUNT) return null;
  if (typeof ring !== "string" || !/^([0-9a-f]{2})*$/.test(ring) || typeof message !== "string") return null;
  const bytes = readBase64(message);
  return bytes && { terms: { cohort, attempt, n, ring }, phase, message: bytes };
}

/** What a device that keeps this of its attempts answers, and keeps then. `held` is what holds of its outcome. */
export async function answerDue(
  place: OwnPlace,
  held: string | null,
  rounds: readonly KeptRound[],
  due: RoundDue,
  now: number,
  bits = new Bits(), // fresh: none from before the computer slept
  seed = drawBytes(KEY),
): Promise<RoundAnswer> {
  const received = writeBase64(due.message);
  const kept = findRound(rounds, due.terms.attempt);
  const stored = kept?.steps.find(({ phase }) => phase === due.phase);
  if (kept && stored) {
    const same = stored.received === received && areSameTerms(kept.terms, due.terms);
    return { sent: same ? stored.sent : "", rounds: null };
  }
  let joined = rounds;
  let sent: Bytes = new Uint8Array(0);
  try {
    if (due.phase === 0) joined = [...rounds.map(eraseSecrets), joinRound(place, held, rounds, due.terms, bits, seed)];
    sent = await answerStep(place, findRound(joined, due.terms.attempt), due);
  } catch (wrong) {
    if (!(wrong instanceof MaskedBanditError) || !LEAVING.has(wrong.code)) throw wrong;
  }
  const own = findRound(joined, due.terms.attempt);
  if (!own) return { sent: "", rounds: null }; // nothing is kept of what was not joined
  const step = { phase: due.phase, received, sent: writeBase64(sent) };
  const says = sent.length && due.phase === MASKING ? Number(readWhole(readBody(sent))) : null;
  const masked = says === null ? own.masked : { made: now, says, size: sent.length };
  const after = joined.map((each) => (each === own ? { ...own, masked, steps: [...own.steps, step] } : each));
  return { sent: step.sent, rounds: due.phase === AGREEING || !sent.length ? after.map(eraseSecrets) : after };
}

const findRound = (rounds: readonly KeptRound[], attempt: number): KeptRound | undefined =>
  rounds.find(({ terms }) => terms.attempt === attempt);

const eraseSecrets = (round: KeptRound): KeptRound => ({ ...round, secrets: null });

const areSameTerms = (one: RoundTerms, other: RoundTerms): boolean =>
  one.cohort === other.cohort && one.attempt === other.attempt && one.n === other.n && one.ring === other.ring;

/** Check the terms, and draw what is masked; or refuse to join. */
function joinRound(
  place: OwnPlace,
  held: string | null,
  rounds: readonly KeptRound[],
  terms: RoundTerms,
  bits: Bits,
  seed: Bytes,
): KeptRound {
  const last = rounds.at(-1)?.terms.attempt ?? 0;
  if (terms.attempt <= last || BigInt(terms.attempt) > readRounds(place.rounds!).attempts) {
    throw refuseTurn(`attempt ${terms.attempt} is not the next one, or one too many`);
  }
  if (rounds.some(({ steps }) => steps.some(({ phase, sent }) => phase >= AGREEING && sent))) {
    throw refuseTurn("the sum of this cohort was agreed to: it has no other attempt");
  }
  if (terms.cohort !== place.cohort || BigInt(terms.n) !== place.offer.n) {
    throw new MaskedBanditError("disagreement", "the round is of another cohort than the place");
  }
  const secrets = { value: `${drawMaskedValue(place.outcomes[0]!, held, bits)}`, seed: writeHex(seed) };
  return { terms, secrets, steps: [], masked: null };
}

/** What the device answers, with all that it answered before done again. */
async function answerStep(place: OwnPlace, kept: KeptRound | undefined, due: RoundDue): Promise<Bytes> {
  if (!kept?.secrets) throw refuseTurn(`attempt ${due.terms.attempt} was not joined, or is over`);
  if (!areSameTerms(kept.terms, due.terms)) {
    throw new MaskedBanditError("disagreement", `the terms of attempt ${due.terms.attempt} were changed`);
  }
  if (kept.steps.some(({ phase }, at) => phase !== at) || kept.steps.length !== due.phase) {
    throw refuseTurn(`phase ${due.phase} of attempt ${due.terms.attempt} is not the next one`);
  }
  const client = await makeClient(place, kept.terms, BigInt(kept.secrets.value), readHex(kept.secrets.seed));
  for (const { received, sent } of kept.steps) {
    if (writeBase64(await client.receive(readBase64(received)!)) !== sent) {
      throw new MaskedBanditError("disagreement", "what was sent before does not follow from what is stored");
    }
  }
  return client.receive(due.message);
}

/** The client of an attempt, whose plan follows from what the person agreed to. */
async function makeClient(place: OwnPlace, terms: RoundTerms, value: bigint, seed: Bytes): Promise<RoundClient> {
  const { offer, protocol } = place;
  const plan = planRound(readRounds(place.rounds!), offer.n, offer.noise!.least, offer.modulus);
  const numbers = [terms.cohort, terms.attempt].map((each) => writeWhole(BigInt(each), 8));
  const called = joinBytes(DEVICES, readHex(protocol), await digestOffer(offer), ...numbers);
  return new RoundClient(plan, readHex(terms.ring), called, Number(offer.position), value, stretchSeed(seed));
}

const DEVICES = encodeText("maskedbandit devices 1 ");
const STRETCHED = encodeText("maskedbandit device round 1");

/** Bits that follow from a seed: a device that goes on has the same again. */
function stretchSeed(seed: Bytes): Bits {
  let calls = 0n;
  return new Bits((count) => {
    calls += 1n;
    return new Uint8Array(shake256(joinBytes(STRETCHED, seed, writeWhole(calls, 8)), { dkLen: count }));
  });
}

/** The bytes of a text that `writeBase64` could have written, or null. */
function readBase64(text: string): Bytes | null {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
    return writeBase64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
