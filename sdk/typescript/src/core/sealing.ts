/** A report for two operators as it is sent. Of this package this file alone brings what seals, so import it late. */
import { writeBase64, writeHex } from "./bytes.js";
import { digestOffer } from "./offers.js";
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
  const terms = { study: protocol, cohort: cohort!, offer: await digestOffer(offer), largest: Number(offer.steps) };
  const keys = [operators[0]!.seals, operators[1]!.seals] as const;
  const { report, leader, helper } = await sealReport({ ...terms, place: offer.position! }, steps, keys, turn, draw, sealer);
  const body = { ticket: place.ticket, report: writeHex(report), turn };
  return JSON.stringify({ ...body, leader: writeBase64(leader), helper: writeBase64(helper) });
}
