/** What the client and the OpenFeature provider have in common: the connection to a service, and the files. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { type PersonAttributes, writeAttributes } from "../core/attributes.js";
import { MaskedBanditError, refusePersonalValue, refuseValue } from "../core/errors.js";
import { Assigned, isName, isTicket, readAssignment, readProblemCode } from "./answers.js";
import type { Messages, Refusal, Reply } from "./answers.js";
import { Calls, checkKey, checkUrl } from "./calls.js";
import { say } from "./delivery.js";
import { chooseFolder, nameFiles, prepareFolder, refuseStorage } from "./folder.js";
import type { Message } from "./outbox.js";
import { KnownArms, type KnownPlace } from "./places.js";
import { SharedFiles } from "./shared.js";

const UNREACHABLE = "unreachable";
const USUAL_DEADLINE = 200; // milliseconds
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
  /** Where outcomes wait until they are sent; processes of one application share it: `~/.local/state/maskedbandit`. */
  readonly folder?: string;
  /** Called with each exposure or report that the service will never take. */
  readonly onRefused?: (refusal: Refusal) => void;
}

/** A person as the service is asked for an arm. */
export interface Person {
  readonly unit: string;
  readonly token?: string | undefined;
  readonly attributes?: PersonAttributes | undefined;
}

/** Of one study, or of all that a key may use. */
export class Engine {
  readonly #calls: Calls;
  readonly #known: KnownArms;
  readonly #files: SharedFiles;
  readonly #deadline: number;
  readonly #refused = new Map<string, number>();
  #closed: Promise<void> | null = null;
  #said = ""; // the last line on what people get

  private constructor(options: EngineOptions, folder: string, name: string, known: KnownArms) {
    this.#calls = new Calls(checkUrl(options.url), options.key);
    [this.#known, this.#deadline] = [known, options.deadlineMs ?? USUAL_DEADLINE];
    this.#files = new SharedFiles({ folder, path: join(folder, name) }, name, this.#calls, (refusal) => {
      this.#refused.set(refusal.code, (this.#refused.get(refusal.code) ?? 0) + 1);
      try {
        options.onRefused?.(refusal);
      } catch {
        say("onRefused failed");
      }
    });
  }

  /** Check all that is given, and begin to send what an earlier process left. */
  static async open(options: EngineOptions, study: string | null): Promise<Engine> {
    const { key, deadlineMs = USUAL_DEADLINE } = options;
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
    const engine = new Engine(options, folder, name, await KnownArms.open(join(folder, `${name}.arms`)));
    try {
      await engine.#files.ready();
    } catch (why) {
      throw refuseStorage(folder, why);
    }
    return engine;
  }

  /** How many exposures and reports the service refused for good, by the code. */
  get refused(): Record<string, number> {
    return Object.fromEntries(this.#refused);
  }

  /** What a unit gets by the service, or by what is known from before, or else the fallback. */
  async assign(study: string, { unit, token, attributes }: Person, fallback: string): Promise<Assigned> {
    if (!isPrintable(unit, LONGEST_UNIT) || unit === "") {
      throw refusePersonalValue("unit", `a string of 1 to ${LONGEST_UNIT} printable characters`);
    }
    this.#checkOpen();
    const end = performance.now() + this.#deadline;
    const body: Messages["Assign"] = { unit, ...(token !== undefined && { token }), ...writeAttributes(attributes) };
    const isRight = (reply: Reply) => readAssignment(reply, study) !== null;
    const reply = await this.#calls.ask(`/v1/studies/${study}/assign`, body, this.#deadline, isRight);
    const given = readAssignment(reply, study);
    const code = reply.status >= 400 && reply.status < 500 ? readProblemCode(reply.body) : "";
    if (code && reply.status !== 409 && reply.status !== 429) {
      const isOfToken = reply.status === 401 && code.startsWith("token_");
      const kind = isOfToken ? code : (MISTAKES[reply.status] ?? "refused");
      throw new MaskedBanditError(kind, `the service refuses the request: ${code}`);
    }
    if (!given) {
      const why = reply.status ? code || `status ${reply.status}` : "no answer";
      this.#sayOnce(`people of ${study} get the arm they had, or a fallback: ${why}`);
    }
    let before: Assigned | null = null;
    try {
      if (given) {
        const { assigned, staysOnDevice } = given;
        const kept = this.#files.do({ verb: "remember", study, unit, given: assigned, staysOnDevice });
        kept.catch(() => undefined); // also if it is not waited for: the process that keeps it may be busy
        await Promise.race([kept, sleep(Math.max(end - performance.now(), 0), null, { ref: false })]);
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
    await this.#put("put", { study, ticket: checkTicket(ticket), kind: "expose", event: "", value: null });
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
      throw refuseValue("metric", metric, "the name of the guardrail or of a metric of the study");
    }
    await this.#put("put", { study, ticket, kind: "report", event: metric ? `${metric}\n${event}` : event, value });
  }

  /** Forget what is here of a person, and have what the service keeps of the person erased. */
  async leave(study: string, ticket: string | null): Promise<void> {
    if (ticket === null) return;
    await this.#put("leave", { study, ticket: checkTicket(ticket), kind: "leave", event: "", value: null });
  }

  /** All places of a unit. */
  async places(unit: string): Promise<KnownPlace[]> {
    this.#checkOpen();
    return this.#known.places(unit);
  }

  /** Try to send what waits; whether nothing waits any more. */
  async flush(timeout: number): Promise<boolean> {
    this.#checkOpen();
    return (await this.#files.do({ verb: "flush", timeout })) === true;
  }

  /** Try to send what waits, and stop. What still waits is sent by another process of the folder, or the next. */
  close(timeout: number): Promise<void> {
    this.#closed ??= this.#files.close(timeout).finally(() => this.#calls.close());
    return this.#closed;
  }

  async #put(verb: "put" | "leave", message: Message): Promise<void> {
    this.#checkOpen();
    await this.#files.do({ verb, message });
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
