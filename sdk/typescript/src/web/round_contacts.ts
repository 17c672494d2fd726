/** What a device asks and answers in the round of its cohort when it is in contact. */
import type { RoundDue } from "../core/adding_up.js";
import type { OwnPlace } from "../core/place.js";
import type { BookedPlace, DeviceBook } from "./book.js";
import type { Calls } from "./calls.js";
import { readEnd } from "./contacts.js";

const MOST_EXCHANGES = 6; // of a contact: more than there are phases
const ROUND_OVER = "over"; // the cohort was released, or is never: nothing more is sent

/**
 * Answer what is due in the round, one phase after the other, until the others have to answer. How many messages there
 * are follows from the clock, the application, and the messages of the service.
 */
export async function goOnAdding(book: DeviceBook, calls: Calls, place: OwnPlace, now: number): Promise<void> {
  const { readDue } = await import("../core/rounds.js");
  const { study, ticket } = place;
  let answers: object[] = [];
  for (let exchange = 0; exchange < MOST_EXCHANGES; exchange++) {
    const reply = await calls.post(study, "round", JSON.stringify({ ticket, answers }));
    const ended = readEnd(reply) || (reply.body["over"] === true ? ROUND_OVER : "");
    if (ended) await book.change(study, (booked) => endRounds(booked, ended));
    const due = reply.status === 200 && !ended ? readDue(reply.body["due"]) : null;
    const message = due && (await keepAnswer(book, place, due, now));
    if (!due || message === null) return;
    const { cohort, attempt } = due.terms;
    answers = [{ cohort, attempt, phase: due.phase, message }];
  }
}

/** Nothing is answered any more: for the person stays what was sent, and nothing that is secret. */
function endRounds(booked: BookedPlace, ended: string): BookedPlace {
  const rounds = (booked.rounds ?? []).map((round) => ({ ...round, secrets: null, steps: [] }));
  return { ...booked, ended, rounds };
}

/** What is answered, once it is kept: what another page answered stays. Null if the place has ended. */
async function keepAnswer(book: DeviceBook, place: OwnPlace, due: RoundDue, now: number): Promise<string | null> {
  const { answerDue } = await import("../core/rounds.js");
  for (;;) {
    const booked = await book.find(place.study);
    if (!booked || booked.ended) return null;
    const before = booked.rounds ?? [];
    const { sent, rounds } = await answerDue(place, booked.outcomes[""]?.held ?? null, before, due, now);
    if (!rounds || (await book.keepRounds(place.study, before, rounds))) return sent;
  }
}
