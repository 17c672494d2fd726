/** The report of a place with a shuffler: a bundle of messages, whose size and number do not depend on the outcome. */
import { Bits } from "./bits.js";
import { writeBase64 } from "./bytes.js";
import { digestOffer } from "./digests.js";
import { namePerson, sealEnvelope } from "./envelopes.js";
import { readHex, writeHex } from "./hex.js";
import { drawBundle, findBound } from "./mixed_messages.js";
import type { OwnPlace } from "./place.js";
import { Sealer } from "./seals.js";

const PASS_TEXT = /^[0-9a-f]{128}$/;

/** What the shuffler is shown of a place, with the pass that the service answered; empty if there is none. */
export async function showPass(place: OwnPlace, shown: unknown): Promise<string> {
  if (typeof shown !== "string" || !PASS_TEXT.test(shown)) return "";
  const { offer, cohort, ticket } = place;
  const [digest, who] = [writeHex(await digestOffer(offer)), writeHex(await namePerson(ticket))];
  const which = `"cohort":${cohort},"n":${offer.n},"place":${offer.position}`;
  return `{${which},"offer":"${digest}","who":"${who}","shown":"${shown}"}`;
}

/** The body of the request that carries a report of so many steps; its size follows from the place. */
export async function sealBundleReport(
  place: OwnPlace,
  steps: bigint,
  pass: string,
  bits = new Bits(), // fresh: none from before the computer slept
  sealer = new Sealer(),
): Promise<string> {
  const { offer, protocol, cohort, operators, ticket } = place;
  const messages = drawBundle(offer, steps, bits);
  const [study, digest, who] = [readHex(protocol), await digestOffer(offer), await namePerson(ticket)];
  const terms = { study, cohort: cohort!, offer: digest, place: offer.position!, who };
  const keys = [readHex(operators[0]!.seals), readHex(operators[1]!.seals)] as const;
  const sealed = await sealEnvelope(messages, findBound(offer), terms, keys, sealer);
  return `${pass.slice(0, -1)},"sealed":"${writeBase64(sealed)}"}`;
}
