/** What the client and the OpenFeature provider have in common: the connection to a service, and the files. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { MaskedBanditError, refusePersonalValue, refuseValue } from "../core/errors.js";
import { Assigned, isName, isTicket, readAssignment, readProblemCode, type Refusal, type Reply } from "./answers.js";
import { Calls, checkKey, checkUrl } from "./calls.js";
import { Delivery, say } from "./delivery.js";
import { chooseFolder, nameFiles, prepareFolder, readSecret, refuseStorage } from "./folder.js";
import { Outbox } from "./outbox.js";
import { KnownArms } from "./places.js";
import { takeTurn, type Turn } from "./turn.js";

const UNREACHABLE = "unreachable";
const LONGEST_UNIT = 256;
export const LONGEST_EVENT = 128;
const MISTAKES: Readonly<Record<number, string>> = { 401: "unauthorized", 403: "forbidden", 404: "unknown_study" };

export interface EngineOptions {
  /** The address of the service. */
  readonly url: string;
  /** A key of the role `client`. */
  readonly key: string;
  /** Milliseconds that an assignment takes at most, with one retry: 200. */
  readonly deadlineMs?: number;
  /** Where outcomes wait until the service has them: `~/.local/state/maskedbandit`. One process uses it at a time. */
  readonly folder?: string;
  /** Called with each exposure or report that the service will never take. */
  readonly onRefused?: (refusal: Refusal) => void;
}

/** Of one study, or of all that a key may use. */
export class Engine {
  readonly #calls: Calls;
  readonly #turn: Turn;
  readonly #outbox: Outbox;
  readonly #known: KnownArms;
  readonly #delivery: Delivery;
  readonly #deadline: number;
  readonly #refused = new Map<string, number>();
  readonly #sending: Promise<void>;
  #closed: Promise<void> | null = null;
  #said = ""; // the last line on what people get

  private constructor(options: EngineOptions, turn: Turn, outbox: Outbox, known: KnownArms) {
    this.#calls = new Calls(checkUrl(options.url), options.key);
    [this.#turn, this.#outbox, this.#known, this.#deadline] = [turn, outbox, known, options.deadlineMs ?? 200];
    this.#delivery = new Delivery(this.#calls, outbox, (refusal) => {
      this.#refused.set(refusal.code, (this.#refused.get(refusal.code) ?? 0) + 1);
      try {
        options.onRefused?.(refusal);
      } catch {
        say("onRefused failed");
      }
    });
    this.#sending = this.#delivery.run();
    known.sweep().catch(() => undefined); // what is too old is read by nobody, and found at the next start
  }

  /** Check all that is given, and begin to send what an earlier process left. */
  static async open(options: EngineOptions, study: string | null): Promise<Engine> {
    const { key, deadlineMs = 200 } = options;
    if (typeof deadlineMs !== "number" || !(deadlineMs > 0 && deadlineMs < Infinity)) {
      throw refuseValue("deadlineMs", deadlineMs, "a positive number of milliseconds");
    }
    if (study !== null && !isName(study)) {
      throw refuseValue("study", study, "the name of a study, of letters, digits, '_', '.' and '-'");
    }
    checkKey(key);
    const name = nameFiles(checkUrl(options.url), study);
    const folder = options.folder ?? chooseFolder();
    await prepareFolder(folder);
    const turn = await takeTurn(folder, name);
    try {
      const path = join(folder, name);
      const outbox = await Outbox.open(`${path}.messages`, await readSecret(folder, `${path}.secret`));
      await mkdir(`${path}.arms`, { recursive: true, mode: 0o700 });
      return new Engine(options, turn, outbox, await KnownArms.open(`${path}.arms`));
    } catch (why) {
      await turn.close();
      throw refuseStorage(folder, why);
    }
  }

  /** How many exposures and reports the service refused for good, by the code. */
  get refused(): Record<string, number> {
    return Object.fromEntries(this.#refused);
  }

  /** What a unit gets by the service, or by what is known from before, or else the fallback. */
  async assign(study: string, unit: string, token: string | undefined, fallback: string): Promise<Assigned> {
    if (!isPrintable(unit, LONGEST_UNIT) || unit === "") {
      throw refusePersonalValue("unit", `a string of 1 to ${LONGEST_UNIT} printable characters`);
    }
    this.#checkOpen();
    const body = token === undefined ? { unit } : { unit, token };
    const isRight = (reply: Reply) => readAssignment(reply, study) !== null;
    const reply = await this.#calls.ask(`/v1/studies/${study}/assign`, body, this.#deadline, isRight);
    const given = readAssignment(reply, study);
    const code = reply.status >= 400 && reply.status < 500 ? readProblemCode(reply.body) : "";
    if (code && reply.status !== 409 && reply.status !== 429) {
      const message = `the service refuses the request: ${code}`;
      throw new MaskedBanditError(MISTAKES[reply.status] ?? "refused", message);
    }
    if (!given) {
      const why = reply.status ? code || `status ${reply.status}` : "no answer";
      this.#sayOnce(`people of ${study} get the arm they had, or a fallback: ${why}`);
    }
    let before: Assigned | null = null;
    try {
      if (given) {
        if (given.staysOnDevice) await this.#known.keepOnDevices(study);
        await this.#known.remember(study, unit, given.assigned);
        this.#said = "";
      } else before = (await this.#known.find(study, unit)) ?? (await this.#known.served(study));
    } catch (why) {
      say(`the arms that were given are not kept: ${refuseStorage("the folder", why).message}`); // people are served
    }
    if (given) return given.assigned;
    const [arm, payload] = before ? [before.arm, before.payload] : [fallback, null];
    return new Assigned(arm, payload, null, null, false, "fallback", code || UNREACHABLE);
  }

  /** Write down that the arm was seen. */
  async expose(study: string, ticket: string | null): Promise<void> {
    if (ticket === null) return;
    await this.#put(study, checkTicket(ticket), "expose", "", null);
  }

  /** Write an outcome down. */
  async report(study: string, ticket: string | null, value: number, event: string, metric: string): Promise<void> {
    if (ticket === null) return;
    checkTicket(ticket);
    if (typeof value !== "number" || !Number.isFinite(value)) throw refusePersonalValue("value", "a finite number");
    if (!isPrintable(event, LONGEST_EVENT)) {
      throw refusePersonalValue("event", `a string of at most ${LONGEST_EVENT} printable characters`);
    }
    if (metric !== "" && !isName(metric)) {
      throw refuseValue("metric", metric, "the name of the guardrail of the study");
    }
    if (this.#known.staysOnDevice(study)) {
      const message = `outcomes of ${study} stay on people's devices: record them there, with maskedbandit/web`;
      throw new MaskedBanditError("outcome_stays_on_device", message);
    }
    await this.#put(study, ticket, "report", metric ? `${metric}\n${event}` : event, value);
  }

  /** Forget what is here of a person, and have what the service keeps of the person erased. */
  async leave(study: string, ticket: string | null): Promise<void> {
    if (ticket === null) return;
    checkTicket(ticket);
    this.#checkOpen();
    await this.#outbox.drop(study, ticket);
    await this.#put(study, ticket, "leave", "", null);
    await this.#known.forget(study, ticket);
  }

  /** All places of a unit. */
  async places(unit: string): Promise<{ study: string; ticket: string }[]> {
    this.#checkOpen();
    return this.#known.places(unit);
  }

  /** Try to send what waits; whether nothing waits any more. */
  async flush(timeout: number): Promise<boolean> {
    this.#checkOpen();
    return this.#delivery.flush(timeout);
  }

  /** Try to send what waits, and stop. What still waits is sent at the next start. */
  close(timeout: number): Promise<void> {
    this.#closed ??= (async () => {
      await this.#delivery.flush(timeout).catch(() => false);
      this.#delivery.end();
      this.#calls.close();
      await this.#sending;
      await this.#known.close();
      await this.#outbox.close();
      await this.#turn.close();
    })();
    return this.#closed;
  }

  async #put(study: string, ticket: string, kind: "expose" | "report" | "leave", event: string, value: number | null) {
    this.#checkOpen();
    await this.#outbox.put({ study, ticket, kind, event, value });
    this.#delivery.wake();
  }

  #checkOpen(): void {
    if (this.#closed) throw refuseValue("client", "closed", "open: make another one");
  }

  #sayOnce(line: string): void {
    if (line !== this.#said) say(line);
    this.#said = line;
  }
}

function checkTicket(ticket: string): string {
  if (!isTicket(ticket)) throw refusePersonalValue("ticket", "a ticket that `assign` gave");
  return ticket;
}

/** Whether this is a text of at most so many characters, all of which can be seen, as in Python. */
export function isPrintable(text: unknown, longest: number): text is string {
  return typeof text === "string" && /^(?:[^\p{C}\p{Z}]| )*$/u.test(text) && [...text].length <= longest;
}
