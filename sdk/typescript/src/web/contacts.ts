/** What a device says when it is in contact, and what it makes of the answers. */
import type { OwnPlace } from "../core/place.js";
import type { DeviceBook } from "./book.js";
import { Calls, ENDS, type Reply, readWord } from "./calls.js";
import { isSealed } from "./reports.js";

const WITHDRAWN = new Set(["left", "unknown_study", "forged", "disagreement"]); // a shuffler with nothing of it says

/** Ask the service, and the shuffler if there is one, to erase what they have of studies that the person left. */
export async function sayFarewell(book: DeviceBook, calls: Calls): Promise<void> {
  for (const { study, ticket, withdrawal } of await book.farewells()) {
    if (ticket) {
      const reply = await calls.post(study, "leave", JSON.stringify({ ticket }));
      if (readWord(reply) === (reply.status === 200 ? "left" : "unknown_ticket")) {
        await book.settleFarewell(study, "ticket");
      }
    }
    if (withdrawal) {
      const reply = await new Calls(withdrawal.address).post(study, "withdraw", withdrawal.pass);
      if (WITHDRAWN.has(readWord(reply))) await book.settleFarewell(study, "withdrawal");
    }
  }
}

/** Tell the service that the person saw the arm; whether it knows. */
export async function tellExposure(book: DeviceBook, calls: Calls, place: OwnPlace): Promise<boolean> {
  const reply = await calls.post(place.study, "expose", JSON.stringify({ ticket: place.ticket }));
  const told = reply.status === 200 && readWord(reply) === "exposed";
  const ended = readEnd(reply);
  if (told || ended) await book.change(place.study, (booked) => ({ ...booked, untold: false, ended }));
  return told;
}

/**
 * Ask for the pass of a place with a shuffler, until the service has given it. The first one stands: by it the shuffler
 * knows the bundle, also when it is told that the person left.
 */
export async function askPass(book: DeviceBook, calls: Calls, place: OwnPlace): Promise<void> {
  const reply = await calls.post(place.study, "pass", JSON.stringify({ ticket: place.ticket }));
  const ended = readEnd(reply);
  if (ended) await book.change(place.study, (booked) => ({ ...booked, ended }));
  if (reply.status !== 200 || readWord(reply) !== "given") return;
  const { showPass } = await import("../core/shuffler.js");
  const pass = await showPass(place, reply.body["shown"]);
  await book.change(place.study, (booked) => (booked.pass ? booked : { ...booked, pass }));
}

/** The answer to a report, from whomever it is for: a shuffler gets no key of the service. */
export async function sendReport(calls: Calls, place: OwnPlace, body: string): Promise<Reply> {
  if (place.shuffled) return new Calls(place.operators[1]!.address).post(place.study, "bundle", body);
  return calls.post(place.study, isSealed(place) ? "upload" : "report", body);
}

/** Why nothing of a place is sent any more, if that is what the service says. */
export function readEnd(reply: Reply): string {
  const word = readWord(reply);
  return reply.status !== 200 && ENDS.has(word) ? word : "";
}
