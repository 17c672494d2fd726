/** Whoever has the turn of a folder: it writes and sends what all processes that share the folder have to say. */

import { createHash } from "node:crypto";
import type { Socket } from "node:net";

import { MaskedBanditError } from "../core/errors.js";
import type { Assigned, Refusal } from "./answers.js";
import type { Calls } from "./calls.js";
import { Delivery } from "./delivery.js";
import { readSecret, refuseStorage } from "./folder.js";
import { GrowingSet } from "./growing_set.js";
import { Outbox, type Message } from "./outbox.js";
import { KnownArms } from "./places.js";
import type { Turn } from "./turn.js";

/** What a process asks of whoever has the turn, in this process or in another. */
export type Request =
  | { verb: "put"; message: Message }
  | { verb: "leave"; message: Message }
  | { verb: "remember"; study: string; unit: string; given: Assigned; staysOnDevice: boolean }
  | { verb: "flush"; timeout: number };

export interface Where {
  readonly folder: string;
  /** How the files of the study begin, with the folder. */
  readonly path: string;
}

export class Holder {
  readonly #calls: Calls;
  readonly #turn: Turn;
  readonly #outbox: Outbox;
  readonly #known: KnownArms;
  readonly #left: GrowingSet; // hashes of the tickets of whoever left
  readonly #delivery: Delivery;
  readonly #sending: Promise<void>;

  private constructor(
    calls: Calls,
    turn: Turn,
    outbox: Outbox,
    known: KnownArms,
    left: GrowingSet,
    onRefused: (refusal: Refusal) => void,
  ) {
    [this.#calls, this.#turn, this.#outbox, this.#known, this.#left] = [calls, turn, outbox, known, left];
    this.#delivery = new Delivery(calls, outbox, onRefused);
    this.#sending = this.#delivery.run();
    known.sweep().catch(() => undefined); // what is too old is read by nobody, and found at the next start
    turn.serve((socket) => serveRequests(socket, (request) => this.do(request)));
  }

  /** Open the files, and begin to send what an earlier process left. */
  static async open(turn: Turn, where: Where, calls: Calls, onRefused: (refusal: Refusal) => void): Promise<Holder> {
    const { folder, path } = where;
    try {
      const outbox = await Outbox.open(`${path}.messages`, await readSecret(folder, `${path}.secret`));
      const [known, left] = [await KnownArms.open(`${path}.arms`), await GrowingSet.open(`${path}.left`)];
      return new Holder(calls, turn, outbox, known, left, onRefused);
    } catch (why) {
      await turn.close();
      throw refuseStorage(folder, why);
    }
  }

  /** Do what is asked; messages are written in the order in which they come. */
  async do(request: Request): Promise<unknown> {
    if (request.verb === "flush") return this.#delivery.flush(request.timeout);
    if (request.verb === "remember") {
      const { study, unit, given, staysOnDevice } = request;
      if (staysOnDevice) await this.#known.keepOnDevices(study);
      return this.#known.remember(study, unit, given);
    }
    const { study, ticket, kind } = request.message;
    if (kind === "report" && this.#known.staysOnDevice(study)) {
      const message = `outcomes of ${study} stay on people's devices: record them there, with maskedbandit/web`;
      throw new MaskedBanditError("outcome_stays_on_device", message);
    }
    if (request.verb === "leave") {
      await this.#left.add(hashTicket(study, ticket)); // from now on, also after a start, nothing is sent of it
      await this.#outbox.drop(study, ticket);
    } else if (this.#left.has(hashTicket(study, ticket))) return null;
    await this.#outbox.put(request.message);
    this.#delivery.wake();
    if (request.verb === "leave") await this.#known.forget(study, ticket);
    return null;
  }

  /** Try to send what waits, and let another process have the turn. */
  async close(timeout: number): Promise<void> {
    await this.#delivery.flush(timeout).catch(() => false);
    this.#turn.dismiss(); // whoever has no answer asks whoever is next
    this.#delivery.end();
    this.#calls.close();
    await this.#sending;
    await this.#known.close();
    await this.#outbox.close();
    await this.#turn.close();
  }
}

function hashTicket(study: string, ticket: string): string {
  return createHash("sha256").update(`${study}\n${ticket}`).digest("hex");
}

/** A line is a request, with a number; the answer has the same. */
function serveRequests(socket: Socket, answer: (request: Request) => Promise<unknown>): void {
  readLines(socket, ({ id, request }: { id: number; request: Request }) => {
    answer(request).then(
      (gives) => writeLine(socket, { id, gives: gives ?? null }),
      (why: unknown) => writeLine(socket, { id, error: describeError(why) }),
    );
  });
}

function describeError(why: unknown): { code: string; message: string } {
  const { code, message } = refuseStorage("the folder", why);
  return { code, message };
}

export function readLines<Line>(socket: Socket, take: (line: Line) => void): void {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text) => {
    const lines = `${rest}${String(text)}`.split("\n");
    rest = lines.pop() ?? "";
    try {
      for (const line of lines) take(JSON.parse(line) as Line);
    } catch {
      socket.destroy(); // it is no client of this package
    }
  });
}

export function writeLine(socket: Socket, line: object): void {
  if (socket.writable) socket.write(`${JSON.stringify(line)}\n`);
}
