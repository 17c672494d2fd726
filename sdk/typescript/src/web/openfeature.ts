/** A device behind OpenFeature: flags are studies, the targeting key is the unit, and `track` records outcomes. */
import {
  type ErrorCode,
  type EvaluationContext,
  type JsonValue,
  OpenFeatureEventEmitter,
  type Provider,
  ProviderEvents,
  type ResolutionDetails,
  type TrackingEventDetails,
} from "@openfeature/web-sdk";
import { pickAttributes, TURNED_AWAY } from "../core/attributes.js";
import { MaskedBanditError } from "../core/errors.js";
import type { ShownArm } from "./answered_arm.js";
import type { Device } from "./device.js";

const EXPOSED = "exposed"; // the event that says that the arm was seen, and is no outcome
const CODES: Readonly<Record<string, string>> = { unknown_study: "FLAG_NOT_FOUND", unreachable: "PROVIDER_NOT_READY" };

/** What an application may say about a provider. */
export interface ProviderOptions {
  /** For each study the name of the event whose value is its outcome; other studies take all events. */
  readonly outcomes?: Readonly<Record<string, string>>;
  /** For each study that has some the names of its guardrail and metrics; events so called are their outcomes. */
  readonly metrics?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Evaluates flags as studies, for the person of a device.
 *
 * The value of a flag is the payload of the person's arm, or the arm's name if it has none. Pages evaluate at once and
 * as often as they are drawn. So the first evaluation of a flag asks for the person's arm and gives the default; when
 * the arm is there, the event ConfigurationChanged says so. Evaluating says nothing of what was seen: `device.expose`
 * does, or `track("exposed", { flag })`. The context's `token` is the backend's signature of the person, or one for
 * each study; texts, numbers and booleans in it are what rules on who is enrolled are about.
 */
export class MaskedBanditProvider implements Provider {
  readonly metadata = { name: "Masked Bandit" } as const;
  readonly runsOn = "client";
  readonly events = new OpenFeatureEventEmitter();
  readonly #device: Device;
  readonly #options: ProviderOptions;
  readonly #arms = new Map<string, ShownArm>();
  readonly #failed = new Map<string, MaskedBanditError>(); // not asked again before the context changes
  readonly #asking = new Set<string>();
  #unit: string | undefined;

  constructor(device: Device, options: ProviderOptions = {}) {
    this.#device = device;
    this.#options = options;
  }

  /** The arms that the person has are there at once, and the device is in contact; OpenFeature calls this. */
  async initialize(context: EvaluationContext = {}): Promise<void> {
    this.#unit = context.targetingKey || undefined;
    for (const { study, ended } of await this.#device.show()) {
      if (ended !== "left") await this.#ask(study, context.targetingKey ?? "", "", context);
    }
    this.#tell(this.#device.contact());
  }

  /** Flags that could not be evaluated, or turned the person away, are asked for again; OpenFeature calls this. */
  onContextChange(): void {
    this.#failed.clear();
    for (const [flag, shown] of this.#arms) if (TURNED_AWAY.has(shown.why)) this.#arms.delete(flag);
  }

  resolveBooleanEvaluation(flag: string, usual: boolean, context: EvaluationContext): ResolutionDetails<boolean> {
    return this.#resolve(flag, usual, context, (value) => typeof value === "boolean");
  }

  resolveStringEvaluation(flag: string, usual: string, context: EvaluationContext): ResolutionDetails<string> {
    return this.#resolve(flag, usual, context, (value) => typeof value === "string");
  }

  resolveNumberEvaluation(flag: string, usual: number, context: EvaluationContext): ResolutionDetails<number> {
    return this.#resolve(flag, usual, context, (value) => typeof value === "number");
  }

  resolveObjectEvaluation<T extends JsonValue>(
    flag: string,
    usual: T,
    context: EvaluationContext,
  ): ResolutionDetails<T> {
    return this.#resolve(flag, usual, context, (value) => typeof value === "object");
  }

  /** Record the value of the event, or 1, in every study of which the device's person has an arm. It sends nothing. */
  track(name: string, context: EvaluationContext, details: TrackingEventDetails = {}): void {
    if (context.targetingKey !== this.#unit) return; // it was another person
    const { value = 1, flag } = details;
    const { metrics = {} } = this.#options;
    for (const study of this.#arms.keys()) {
      if (name === EXPOSED) {
        if (flag === undefined || flag === study) this.#tell(this.#device.expose(study));
      } else if (Object.hasOwn(metrics, study) && metrics[study]!.includes(name)) {
        this.#tell(this.#device.record(study, value, name));
      } else if ((this.#options.outcomes?.[study] ?? name) === name) {
        this.#tell(this.#device.record(study, value));
      }
    }
  }

  #resolve<T>(
    flag: string,
    usual: T,
    context: EvaluationContext,
    fits: (value: unknown) => boolean,
  ): ResolutionDetails<T> {
    const unit = context.targetingKey;
    if (!unit) return refuseFlag(usual, "TARGETING_KEY_MISSING", "the targeting key is the person, and is needed");
    this.#unit ??= unit;
    if (unit !== this.#unit) return refuseFlag(usual, "INVALID_CONTEXT", "this device is of another person");
    const shown = this.#arms.get(flag);
    if (!shown) {
      const failed = this.#failed.get(flag);
      if (failed) return refuseFlag(usual, CODES[failed.code] ?? "GENERAL", `${failed.code}: ${failed.message}`);
      const { token } = context;
      const own = typeof token === "object" ? (token as Record<string, unknown> | null)?.[flag] : token;
      void this.#ask(flag, unit, typeof own === "string" ? own : "", context);
      return { value: usual, reason: "DEFAULT" };
    }
    const value = shown.payload ?? shown.arm;
    if (!fits(value)) return refuseFlag(usual, "TYPE_MISMATCH", "the arm has no payload of this type");
    const reason = shown.why ? "STATIC" : "SPLIT";
    return { value: value as T, variant: shown.arm, reason, flagMetadata: { why: shown.why } };
  }

  /** Ask for the arm of a flag, once. */
  async #ask(flag: string, unit: string, token: string, context: EvaluationContext): Promise<void> {
    if (this.#asking.has(flag)) return;
    this.#asking.add(flag);
    try {
      this.#arms.set(flag, await this.#device.assign(flag, unit, token, pickAttributes(context)));
    } catch (wrong) {
      if (!(wrong instanceof MaskedBanditError)) throw wrong;
      if (wrong.code === "no_consent") return; // it may come at any time, and asking costs nothing
      this.#failed.set(flag, wrong);
    } finally {
      this.#asking.delete(flag);
    }
    this.events.emit(ProviderEvents.ConfigurationChanged, { flagsChanged: [flag] });
  }

  /** OpenFeature promises pages that tracking does not fail. */
  #tell(told: Promise<unknown>): void {
    told.catch((wrong: unknown) => {
      console.warn(`maskedbandit: an event is dropped: ${wrong instanceof MaskedBanditError ? wrong.code : "error"}`);
    });
  }
}

const refuseFlag = <T>(value: T, errorCode: string, errorMessage: string): ResolutionDetails<T> =>
  ({ value, reason: "ERROR", errorCode: errorCode as ErrorCode, errorMessage });
