/** Sending what the outbox holds until the service has answered, whatever happens in between. */

import { randomInt } from "node:crypto";

import { MaskedBanditError } from "../core/errors.js";
import { readProblemCode, readVerdicts, type Kind, type Refusal, type Reply } from "./answers.js";
import type { Calls } from "./calls.js";
import type { Message, Outbox } from "./outbox.js";

const MESSAGES_TOGETHER = 200; // messages in a request
const REQUEST_PATIENCE = 30_000; // milliseconds for a request
const FIRST_PAUSE = 0.25; // seconds
const LONGEST_PAUSE = 60;
const GOOD: Readonly<Record<Kind, ReadonlySet<string>>> = {
  expose: new Set(["exposed"]),
  report: new Set(["accepted", "duplicate"]),
  leave: new Set(["left"]),
};
const TOO_MUCH: readonly number[] = [413, 422]; // of a batch: some of it may be accepted by itself

/**
 * Seconds until the next attempt: twice as many each time, never fewer than the service asks for.
 *
 * The share is drawn anew, so that the applications that a service lost do not all come back at once.
 */
export function choosePause(failures: number, asked: number, share: number): number {
  const longest = Math.min(FIRST_PAUSE * 2 ** Math.min(failures - 1, 30), LONGEST_PAUSE);
  return asked + (longest * (1 + share)) / 2;
}

/** Say something to whoever runs the application; no person, ticket, event, value or proof is ever in it. */
export function say(line: string): void {
  process.emitWarning(line, "MaskedBanditWarning");
}

export class Delivery {
  readonly #calls: Calls;
  readonly #outbox: Outbox;
  readonly #onRefused: (refusal: Refusal) => void;
  readonly #woken = new Bell();
  readonly #hurried = new Bell();
  readonly #idle = new Bell();
  #ended = false;
  #said = 200; // the last status that was said

  constructor(calls: Calls, outbox: Outbox, onRefused: (refusal: Refusal) => void) {
    [this.#calls, this.#outbox, this.#onRefused] = [calls, outbox, onRefused];
    this.#woken.ring(); // what an earlier process left
  }

  /** A message was written. */
  wake(): void {
    this.#woken.ring();
    this.#idle.silence();
  }

  /** Try now, and wait until nothing is left, at most for a time; whether nothing is left. */
  async flush(timeout: number): Promise<boolean> {
    await this.#outbox.settle([]); // what is put right now is written first
    this.wake();
    this.#hurried.ring();
    return this.#idle.wait(timeout, true);
  }

  /** Send all that comes, until the end. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#ended; ) {
      if (!failures) await this.#woken.wait();
      this.#woken.silence();
      let wait: number | null;
      try {
        wait = await this.#attempt();
      } catch (why) {
        // a full disk, or a mistake of ours: neither ends the sending
        const isOurs = why instanceof MaskedBanditError;
        say(`outcomes wait: ${isOurs ? why.message : why instanceof Error ? why.name : "an error"}`);
        wait = 0;
      }
      if (wait === null) {
        failures = 0;
        if (!this.#woken.isRung) this.#idle.ring();
      } else if (!this.#ended) {
        failures += 1;
        await this.#hurried.wait(1000 * choosePause(failures, wait, randomInt(1000) / 1000));
        this.#hurried.silence(); // new messages wait too
      }
    }
  }

  /** Send nothing more. */
  end(): void {
    this.#ended = true;
    this.#woken.ring();
    this.#hurried.ring();
  }

  /** Send what there is: null if nothing is left, or the seconds that the service asks to be left alone. */
  async #attempt(): Promise<number | null> {
    const stuck: number[] = [];
    for (const study of this.#outbox.studies()) {
      const wait = await this.#empty(study); // one that is refused does not stop the others
      if (wait !== null) stuck.push(wait);
    }
    return stuck.length ? Math.max(...stuck) : null;
  }

  async #empty(study: string): Promise<number | null> {
    let together = MESSAGES_TOGETHER;
    for (let messages; (messages = this.#outbox.next(study, together)).length && !this.#ended; ) {
      for (const kind of ["expose", "report", "leave"] as const) {
        const all = messages.filter((message) => message.kind === kind);
        const batch = kind === "leave" ? all.slice(0, 1) : all;
        if (!batch.length) continue;
        const reply = await this.#post(study, kind, batch);
        if (TOO_MUCH.includes(reply.status) && messages.length > 1) {
          together = Math.max(Math.floor(messages.length / 2), 1);
          break;
        }
        if (!(await this.#settle(study, kind, batch, reply))) return reply.retryAfter;
        together = Math.min(2 * together, MESSAGES_TOGETHER);
      }
    }
    return null;
  }

  async #post(study: string, kind: Kind, batch: Message[]): Promise<Reply> {
    const requests = batch.map((message) => this.#outbox.writeBody(message));
    const path = `/v1/studies/${study}/${kind}`;
    if (kind !== "leave") return this.#calls.post(`${path}/batch`, { requests }, REQUEST_PATIENCE);
    const reply = await this.#calls.post(path, requests[0], REQUEST_PATIENCE); // of which the service takes no batch
    const isGone = reply.status === 404 && readProblemCode(reply.body) === "unknown_ticket"; // nobody has it any more
    if (reply.status !== 200 && !isGone) return reply;
    const answer = isGone ? { status: "left" } : reply.body;
    return { ...reply, status: 200, body: { items: [{ status: 200, answer }] } };
  }

  /** Forget what was answered; whether all was. */
  async #settle(study: string, kind: Kind, batch: Message[], reply: Reply): Promise<boolean> {
    const alone = reply.status === 422 ? readProblemCode(reply.body) : "";
    const found = alone ? [alone] : readVerdicts(reply, batch.length, GOOD[kind]);
    if (!found) {
      if (reply.status !== this.#said) {
        const why = reply.status ? `answers with status ${reply.status}` : "does not answer";
        say(`outcomes of ${study} wait: the service ${why}`);
      }
      this.#said = reply.status;
      return false;
    }
    this.#said = 200;
    const answered = batch.filter((_, number) => found[number] !== null);
    await this.#outbox.settle(answered);
    const refused = batch.flatMap(({ ticket, event }, number) => {
      const code = found[number];
      return code ? [{ study, ticket, kind, event, code }] : [];
    });
    for (const code of new Set(refused.map((each) => each.code))) {
      const count = refused.filter((each) => each.code === code).length;
      say(`the service will never take ${count} messages of ${study}: ${code}`);
    }
    refused.forEach(this.#onRefused);
    return answered.length === batch.length;
  }
}

/** Something that happened, for whoever waits for it, until it is silenced. */
class Bell {
  isRung = false;
  readonly #waiting = new Set<() => void>();

  ring(): void {
    this.isRung = true;
    for (const go of this.#waiting) go();
  }

  silence(): void {
    this.isRung = false;
  }

  /** Whether it rang, or does within a time; an application may end meanwhile, unless it is kept. */
  async wait(timeout = Infinity, keep = false): Promise<boolean> {
    if (this.isRung) return true;
    return new Promise((resolve) => {
      const end = (rang: boolean) => {
        if (timer) clearTimeout(timer);
        this.#waiting.delete(go); // a service may be away for long, and it is waited for again and again
        resolve(rang);
      };
      const go = () => end(true);
      const timer = timeout < Infinity ? setTimeout(end, timeout, false) : null;
      if (!keep) timer?.unref();
      this.#waiting.add(go);
    });
  }
}
