/** A report for two operators as it is sent. */
import { writeBase64 } from "./bytes.js";
import { digestOffer } from "./digests.js";
import { readHex, writeHex } from "./hex.js";
import type { OwnPlace } from "./place.js";
import { Sealer } from "./seals.js";
import { sealReport } from "./uploads.js";
import { type Draw, drawBytes } from "./words.js";

/** The body of the request that carries a report of so many steps; its size follows from the place and the turn. */
export async function sealUpload(
  place: OwnPlace,
  steps: bigint,
  turn: number,
  draw: Draw = drawBytes,
  sealer = new Sealer(),
): Promise<string> {
  const { offer, protocol, cohort, operators } = place;
  const [study, digest, largest] = [readHex(protocol), await digestOffer(offer), Number(offer.steps)];
  const terms = { study, cohort: cohort!, offer: digest, largest, place: offer.position! };
  const keys = [readHex(operators[0]!.seals), readHex(operators[1]!.seals)] as const;
  const { report, leader, helper } = await sealReport(terms, steps, keys, turn, draw, sealer);
  const body = { ticket: place.ticket, report: writeHex(report), turn };
  return JSON.stringify({ ...body, leader: writeBase64(leader), helper: writeBase64(helper) });
}
