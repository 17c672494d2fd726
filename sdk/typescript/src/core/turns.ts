/**
 * When a device reports to two operators: the rule on which everything rests, as a function that is not told the outcome.
 *
 *     standing    from exposure on, every contact within the window reports what holds by then, and the first contact
 *                 after it what held at its end; whoever never comes back has reported the default
 *     deadline    the first contact after the window reports what held at its end, for everybody
 *
 * The report of the whole window is sent again, as it is, by later contacts until the leader has answered. Nothing is
 * sent after the last moment at which the leader takes reports.
 */
import type { OwnPlace } from "./place.js";

/** Of a report that was sealed, what decides about the next one. */
export interface SealedTurn {
  readonly turn: number;
  readonly sealed: number; // when, in milliseconds
  readonly answer: string; // of the leader; empty as long as there is none
}

/** The turn of the report that a contact sends: a new one, the last one again, or null. */
export function chooseTurn(
  place: Pick<OwnPlace, "end" | "lastCall">,
  last: SealedTurn | null,
  now: number,
  standing: boolean,
): number | null {
  if (now > place.lastCall) return null;
  if (last && last.sealed >= place.end) return last.answer ? null : last.turn;
  return standing || now >= place.end ? (last ? last.turn + 1 : 0) : null;
}
