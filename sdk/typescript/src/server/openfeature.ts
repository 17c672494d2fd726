/** The service behind OpenFeature: flags are studies, the targeting key is the unit, and `track` reports outcomes. */

import { createHash, randomUUID } from "node:crypto";

import type {
  ErrorCode,
  EvaluationContext,
  JsonValue,
  Provider,
  ResolutionDetails,
  TrackingEventDetails,
} from "@openfeature/server-sdk";

import { pickAttributes } from "../core/attributes.js";
import { MaskedBanditError } from "../core/errors.js";
import { isName, type Assigned } from "./answers.js";
import { say } from "./delivery.js";
import { Engine, isPrintable, LONGEST_EVENT, type EngineOptions } from "./engine.js";
import type { KnownPlace } from "./places.js";

const EXPOSED = "exposed"; // the event that says that the arm was seen, and is no outcome
const LAST_TRY = 2000; // milliseconds
const CODES: Readonly<Record<string, string>> = {
  personal_value: "INVALID_CONTEXT",
  forbidden: "FLAG_NOT_FOUND", // the key may be for another study
  unknown_study: "FLAG_NOT_FOUND",
};

export interface ProviderOptions extends EngineOptions {
  /** Evaluating says too that the arm was seen: true. Otherwise `track("exposed", context)` does. */
  readonly exposeOnEvaluation?: boolean;
  /** For each study the name of the event whose value is its outcome; other studies take all events. */
  readonly outcomes?: Readonly<Record<string, string>>;
  /** For each study that has some the names of its guardrail and metrics; events so called are their outcomes. */
  readonly metrics?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Evaluates flags as studies of a service.
 *
 * The value of a flag is the payload of the person's arm, or the arm's name if it has none. The arm is the variant;
 * `flagMetadata` has the ticket, or `why` there is none, the propensity and whether the person came before. Evaluating
 * a flag enrols the person; use it where the arm is shown. A `token` in the context is the application's signature of
 * the person; texts, numbers and booleans in it are what rules of the study on who is enrolled are about.
 */
export class MaskedBanditProvider implements Provider {
  readonly metadata = { name: "Masked Bandit" } as const;
  readonly runsOn = "server";
  readonly #options: ProviderOptions;
  readonly #telling = new Set<Promise<void>>();
  #before: Promise<unknown> = Promise.resolve(); // events are told in the order in which they happened
  #engine: Engine | null = null;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** Open the folder; OpenFeature calls this. */
  async initialize(): Promise<void> {
    this.#engine = await Engine.open(this.#options, null);
  }

  /** Try to send what waits, and stop. What still waits is sent at the next start. OpenFeature calls this. */
  async onClose(): Promise<void> {
    await Promise.all(this.#telling);
    await this.#engine?.close(LAST_TRY);
  }

  /** Try to send what waits; whether nothing waits any more. */
  async flush(timeoutMs = 10_000): Promise<boolean> {
    await Promise.all(this.#telling);
    return this.#open().flush(timeoutMs);
  }

  /**
   * Report the value of the event, or 1, in every study in which the person has a place.
   *
   * Each call is an event of its own, which counts once however often it is sent. With an `event_id` in the details,
   * calls with the same one are one event. OpenFeature waits for nothing: `flush` and `onClose` do.
   */
  track(name: string, context?: EvaluationContext, details: TrackingEventDetails = {}): void {
    const unit = context?.targetingKey;
    if (!unit) return say("an event without a targeting key is dropped");
    const { value = 1, event_id: id = randomUUID() } = details;
    const places = this.#before.then(() => this.#open().places(unit));
    this.#before = places.catch(() => undefined);
    const tell = ({ study, ticket }: KnownPlace) => this.#tell(study, ticket, name, value, nameEvent(name, String(id)));
    const telling: Promise<void> = this.#try(async () => {
      await Promise.all((await places).map(tell));
    }, "an event is dropped").finally(() => this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  resolveBooleanEvaluation(flag: string, usual: boolean, context: EvaluationContext) {
    return this.#resolve<boolean>(flag, usual, context, "boolean");
  }

  resolveStringEvaluation(flag: string, usual: string, context: EvaluationContext) {
    return this.#resolve<string>(flag, usual, context, "string");
  }

  resolveNumberEvaluation(flag: string, usual: number, context: EvaluationContext) {
    return this.#resolve<number>(flag, usual, context, "number");
  }

  resolveObjectEvaluation<Value extends JsonValue>(flag: string, usual: Value, context: EvaluationContext) {
    return this.#resolve<Value>(flag, usual, context, "object");
  }

  async #resolve<Value>(
    study: string,
    usual: Value,
    context: EvaluationContext,
    type: string,
  ): Promise<ResolutionDetails<Value>> {
    const refuse = (code: string, errorMessage: string): ResolutionDetails<Value> => {
      return { value: usual, reason: "ERROR", errorCode: code as ErrorCode, errorMessage };
    };
    const unit = context.targetingKey;
    if (!unit) return refuse("TARGETING_KEY_MISSING", "the targeting key is the person, and is needed");
    if (!isName(study)) {
      return refuse("FLAG_NOT_FOUND", "a flag has the name of a study, of letters, digits, '_', '.' and '-'");
    }
    const token = typeof context["token"] === "string" ? context["token"] : undefined;
    let given: Assigned;
    try {
      given = await this.#open().assign(study, { unit, token, attributes: pickAttributes(context) }, "");
    } catch (why) {
      if (!(why instanceof MaskedBanditError)) throw why;
      return refuse(CODES[why.code] ?? "GENERAL", why.message);
    }
    if (!given.arm) {
      const message = `the service gives no arm (${given.why}), and none is known from before`;
      return refuse("PROVIDER_NOT_READY", message);
    }
    const value = given.payload ?? given.arm;
    if (typeof value !== type) return refuse("TYPE_MISMATCH", "the arm has no payload of this type");
    if (this.#options.exposeOnEvaluation ?? true) {
      await this.#try(() => this.#open().expose(study, given.ticket), "an exposure is dropped");
    }
    return {
      value: value as Value,
      variant: given.arm,
      reason: given.source === "fallback" ? "STALE" : given.ticket ? "SPLIT" : "STATIC",
      flagMetadata: {
        again: given.again,
        source: given.source,
        ...(given.ticket !== null && { ticket: given.ticket }),
        ...(given.propensity !== null && { propensity: given.propensity }),
        ...(given.why !== "" && { why: given.why }),
      },
    };
  }

  /** Say to a study what it is to know of an event; what one does not take others may. */
  async #tell(study: string, ticket: string, name: string, value: number, event: string): Promise<void> {
    const { outcomes = {}, metrics = {} } = this.#options;
    const further = Object.hasOwn(metrics, study) && metrics[study]!.includes(name);
    await this.#try(async () => {
      const engine = this.#open();
      if (name === EXPOSED) await engine.expose(study, ticket);
      else if (further) await engine.report(study, ticket, value, event, name);
      else if ((outcomes[study] ?? name) === name) await engine.report(study, ticket, value, event, "");
    }, "an event is dropped");
  }

  /** Do something whose failure is only said: OpenFeature promises applications that tracking does not fail. */
  async #try(work: () => Promise<void>, otherwise: string): Promise<void> {
    try {
      await work();
    } catch (why) {
      say(`${otherwise}: ${why instanceof MaskedBanditError ? why.message : "an error"}`);
    }
  }

  #open(): Engine {
    if (!this.#engine) throw new MaskedBanditError("invalid_value", "the provider is not set yet");
    return this.#engine;
  }
}

/** The name under which the service knows an event, of as many characters as it takes. */
function nameEvent(name: string, id: string): string {
  const event = `${name}:${id}`;
  return isPrintable(event, LONGEST_EVENT) ? event : createHash("sha256").update(event).digest("hex");
}
