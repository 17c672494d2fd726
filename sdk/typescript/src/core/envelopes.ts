/** What a device sends to its shuffler: messages, each sealed for the service, and all of them for the shuffler. */
import { type Bytes, encodeText, joinBytes, writeWhole } from "./bytes.js";
import { digestBytes } from "./crypto.js";
import type { Sealer } from "./seals.js";

const ENVELOPE_USE = encodeText("maskedbandit envelope 1 ");
const WHO_SIZE = 8; // bytes

/** What a bundle is of. */
export interface BundleTerms {
  readonly study: Bytes; // the digest of the study's protocol
  readonly cohort: number;
  readonly offer: Bytes; // the digest of what was offered to the cohort
  readonly place: bigint; // of the device's person in the cohort
  readonly who: Bytes; // the hash of the ticket
}

/** What the messages are bound to, the same for the whole cohort: so nothing in them says whose they are. */
export const bindCohort = ({ study, cohort, offer }: BundleTerms): Bytes =>
  joinBytes(study, writeWhole(BigInt(cohort), 8), offer);

/** What the envelope and the pass are bound to. */
export const bindPlace = (terms: BundleTerms): Bytes =>
  joinBytes(bindCohort(terms), writeWhole(terms.place, 8), terms.who);

/** What the shuffler knows of a person but the place. */
export async function namePerson(ticket: string): Promise<Bytes> {
  return (await digestBytes(encodeText(`maskedbandit person 1 ${ticket}`))).slice(0, WHO_SIZE);
}

/** The messages, all below a bound, sealed for the service and then for the shuffler. */
export async function sealEnvelope(
  messages: readonly bigint[],
  below: bigint,
  terms: BundleTerms,
  [service, shuffler]: readonly [Bytes, Bytes],
  sealer: Sealer,
): Promise<Bytes> {
  const info = joinBytes(encodeText(`maskedbandit shuffled message 1, below ${below}, `), bindCohort(terms));
  const width = Math.ceil((below - 1n).toString(16).length / 2); // bytes of a message: the same for all of a cohort
  const sealed: Bytes[] = [];
  for (const message of messages) sealed.push(await sealer.seal(writeWhole(message, width), service, info));
  return sealer.seal(joinBytes(...sealed), shuffler, joinBytes(ENVELOPE_USE, bindPlace(terms)));
}
