/** What a device sends of its report: two shares with a proof, each sealed for one of two operators. */
import { type Bytes, encodeText, joinBytes, writeWhole } from "./bytes.js";
import { Range, SEED } from "./prio3.js";
import type { Sealer } from "./seals.js";
import type { Draw } from "./words.js";

const REPORT_USE = encodeText("maskedbandit report 1");
const NONCE = 16;

/** What a report is of: both of its seals are bound to this. */
export interface ReportTerms {
  readonly study: Bytes; // the digest of the study's protocol
  readonly cohort: number;
  readonly offer: Bytes; // the digest of what was offered to the cohort
  readonly largest: number; // the value is from 0 to this
  readonly place: bigint; // of the device's person in the cohort
}

/** One report of a device. */
export interface Upload {
  readonly report: Bytes; // its name: random bytes, used once
  readonly turn: number; // how many reports of this place the device sent before
  readonly leader: Bytes; // sealed shares
  readonly helper: Bytes;
}

/** What the seal for an operator is bound to; its role is 0 for the leader. */
export function bindReport(terms: ReportTerms, role: number, report: Bytes, turn: number): Bytes {
  const numbers = [BigInt(terms.cohort), terms.place, BigInt(turn)].map((each) => writeWhole(each, 8));
  return joinBytes(REPORT_USE, Uint8Array.of(role), terms.study, terms.offer, ...numbers, report);
}

/** The report of a value, for the operators with these public keys, the leader's first. It is made once. */
export async function sealReport(
  terms: ReportTerms,
  value: bigint,
  keys: readonly [Bytes, Bytes],
  turn: number,
  draw: Draw,
  sealer: Sealer,
): Promise<Upload> {
  const report = draw(NONCE);
  const shares = new Range(terms.largest, joinBytes(REPORT_USE, terms.study)).shard(value, draw(2 * SEED));
  const [leader, helper] = [
    await sealer.seal(shares[0], keys[0], bindReport(terms, 0, report, turn)),
    await sealer.seal(shares[1], keys[1], bindReport(terms, 1, report, turn)),
  ];
  return { report, turn, leader, helper };
}
