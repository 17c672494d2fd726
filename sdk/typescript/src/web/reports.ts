import { Bits } from "../core/bits.js";
import { Fraction } from "../core/fractions.js";
import { drawLocalValue, writeLocalReport } from "../core/local_reports.js";
import type { OwnOutcome } from "../core/outcomes.js";
import type { OwnPlace } from "../core/place.js";
import { roundOutcome } from "../core/rounding.js";
import type { KeptReport } from "../core/turns.js";
import { drawBytes } from "../core/words.js";
import type { BookedPlace, MadeReport } from "./book.js";

/** What counts of somebody without an outcome, in steps: rounded once, as all that is sealed. */
export function roundDefault(place: OwnPlace): number {
  return isSealed(place) ? roundSteps(place.outcomes[0]!, null) : 0;
}

/** The place once an outcome is recorded; what holds as before stays what it was rounded to. */
export function holdOutcome(place: OwnPlace, booked: BookedPlace, metric: string, value: number): BookedPlace {
  const outcome = place.findOutcome(metric);
  const before = Object.hasOwn(booked.outcomes, metric) ? booked.outcomes[metric] : undefined;
  const held = outcome.addRecord(before ? Fraction.fromText(before.held) : null, value);
  if (before?.held === `${held}`) return booked;
  const steps = isSealed(place) ? roundSteps(outcome, held) : 0;
  return { ...booked, outcomes: { ...booked.outcomes, [metric]: { held: `${held}`, steps } } };
}

const roundSteps = (outcome: OwnOutcome, held: Fraction | null): number =>
  Number(roundOutcome(outcome.scaleOutcome(held), outcome.offer.steps, new Bits()));

/** What a device says of a place in one turn, from what holds now: made once, each of one size whatever it says. */
export async function makeReports(
  place: OwnPlace,
  booked: BookedPlace,
  turn: number,
  now: number,
): Promise<MadeReport[]> {
  const { study, ticket } = place;
  const make = (metric: string, says: number, body: string): MadeReport =>
    ({ study, turn, metric, made: now, says, size: body.length, answer: "", body });
  if (isSealed(place)) {
    const says = booked.outcomes[""]?.steps ?? booked.usual;
    return [make("", says, await sealReport(place, BigInt(says), turn, booked.pass))];
  }
  return place.outcomes.map((outcome) => {
    const held = booked.outcomes[outcome.metric]?.held;
    const scaled = outcome.scaleOutcome(held === undefined ? null : Fraction.fromText(held));
    const value = drawLocalValue(outcome.offer, scaled, new Bits()); // fresh: none from before the computer slept
    return make(outcome.metric, Number(value), writeLocalReport(ticket, value, outcome.metric, drawBytes));
  });
}

/** What seals is large: only such a place loads it. */
async function sealReport(place: OwnPlace, says: bigint, turn: number, pass: string): Promise<string> {
  if (place.shuffled) return (await import("../core/shuffler.js")).sealBundleReport(place, says, pass);
  return (await import("../core/two_servers.js")).sealUpload(place, says, turn);
}

/** Whether reports are sealed for two operators; else their noise is added here. */
export const isSealed = (place: OwnPlace): boolean => place.operators.length > 0;

/** Of the last turn what decides about the next one: it is answered if all of its reports are. */
export function findLast(reports: MadeReport[]): KeptReport | null {
  const last = reports.at(-1);
  if (!last) return null;
  const open = reports.some((each) => each.turn === last.turn && !each.answer);
  return { turn: last.turn, made: last.made, answer: open ? "" : last.answer };
}
