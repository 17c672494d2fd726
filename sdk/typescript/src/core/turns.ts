/**
 * When a device reports: the rule on which everything rests, as a function that is not told the outcome.
 *
 *     standing    from exposure on, every contact within the window reports what holds by then, and the first contact
 *                 after it what held at its end; whoever never comes back has reported the default
 *     deadline    the first contact after the window reports what held at its end, for everybody
 *
 * Under local trust there are no standing reports: each would cost epsilon again. Nor are there with a shuffler, which
 * could not tell which report another one replaces once they are mixed. The report of the whole window is sent again,
 * as it is, by later contacts until the service has answered, and nothing after the last moment at which reports are
 * taken.
 */
import type { OwnPlace } from "./place.js";

/** Of a report that was made, what decides about the next one. */
export interface KeptReport {
  readonly turn: number;
  readonly made: number; // when, in milliseconds
  readonly answer: string; // of the service; empty as long as there is none
}

/** The turn of the report that a contact sends: a new one, the last one again, or null. */
export function chooseTurn(
  place: Pick<OwnPlace, "end" | "lastCall" | "operators" | "shuffled">,
  last: KeptReport | null,
  now: number,
  standing: boolean,
): number | null {
  if (now > place.lastCall) return null;
  if (last && last.made >= place.end) return last.answer ? null : last.turn;
  if (now < place.end && !(standing && place.operators.length && !place.shuffled)) return null;
  return last ? last.turn + 1 : 0;
}
