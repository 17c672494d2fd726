/** What the service answers, read with care: whatever is not what was promised counts as no answer. */

import type { components } from "./api.js";

/** The messages of the service, by their names in its OpenAPI document. */
export type Messages = components["schemas"];
export type DevicePlace = Messages["DevicePlace"];

const TICKET_PATTERN = /^[0-9a-z]{1,64}$/;
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const CODE_PATTERN = /^[a-z_]{1,64}$/;
const PROPENSITY_PATTERN = /^([0-9]{1,20})(?:\/([0-9]{1,20}))?$/;
// verdicts that a retry cannot change
const FINAL: ReadonlySet<string> = new Set(["conflict", "late", "unknown_ticket", "not_exposed"]);

/** The arm for a person. Without a ticket nobody asks for an outcome, and nobody need know more than the arm. */
export class Assigned {
  constructor(
    readonly arm: string,
    readonly payload: unknown = null,
    /** By which the person's outcome is reported; a secret of the person. */
    readonly ticket: string | null = null,
    /** The probability with which the person was to get this arm, as a fraction such as "1/3", if it is known. */
    readonly propensity: string | null = null,
    /** The place that the person had before. */
    readonly again: boolean = false,
    readonly source: "service" | "fallback" = "service",
    /** Of a fallback "unreachable" or the code of a refusal; else why there is no ticket, or nothing. */
    readonly why: string = "",
    /** Where outcomes stay on people's devices: what this person's device joins with, to be handed on as it came. */
    readonly device: DevicePlace | null = null,
  ) {}

  /** In a log the secrets are left out. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { ticket: _ticket, device: _device, ...shown } = this;
    return shown;
  }
}

/** What the service will never accept: it is dropped. The value is left out, as this ends in logs. */
export interface Refusal {
  readonly study: string;
  readonly ticket: string;
  readonly kind: Kind;
  readonly event: string;
  /** "conflict", "late", "unknown_ticket", "not_exposed", or why it cannot be read. */
  readonly code: string;
}

export type Kind = "expose" | "report" | "leave";

/** What came back: a status, 0 if nothing came, and the body if it is JSON. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  /** Seconds for which the service asks to be left alone. */
  readonly retryAfter: number;
}

export const NO_REPLY: Reply = { status: 0, body: null, retryAfter: 0 };

export function isTicket(value: unknown): value is string {
  return typeof value === "string" && TICKET_PATTERN.test(value);
}

/** Whether this can be the name of a study or of a guardrail, which becomes part of an address. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME_PATTERN.test(value);
}

/** A body of JSON, or null. */
export function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch {
    return null;
  }
}

/** How long the service asks to be left alone, at most an hour; a date is not understood, and is a second. */
export function readRetryAfter(header: string | null): number {
  if (header === null) return 0;
  return /^[0-9]{1,9}$/.test(header) ? Math.min(Number(header), 3600) : 1;
}

/** The code of a problem body, or nothing if this is none. */
export function readProblemCode(problem: unknown): string {
  const code = readField(problem, "code");
  return typeof code === "string" && CODE_PATTERN.test(code) ? code : "";
}

/** What a study gives a person, and whether the person's outcome is to stay on a device. */
export interface Given {
  readonly assigned: Assigned;
  readonly staysOnDevice: boolean;
}

/** The arm that the service gives, or null if this is not an answer of its. */
export function readAssignment(reply: Reply, study: string): Given | null {
  const body = reply.body;
  if (reply.status !== 200 || !isObject(body) || body["study"] !== study) return null;
  const said: Partial<Record<keyof Messages["Assigned"], unknown>> = body;
  const { arm, payload = null, ticket = null, propensity, again, offer = null, why = null, device = null } = said;
  const right =
    typeof arm === "string" &&
    arm !== "" &&
    (ticket === null || isTicket(ticket)) &&
    (offer === null || typeof offer === "string") &&
    (device === null || (ticket !== null && readField(device, "ticket") === ticket)) &&
    (why === null || (typeof why === "string" && CODE_PATTERN.test(why))) &&
    isProbability(propensity) &&
    typeof again === "boolean";
  if (!right) return null;
  const given = [arm, payload, ticket, propensity, again, "service", why ?? "", device as DevicePlace | null] as const;
  return { assigned: new Assigned(...given), staysOnDevice: offer !== null || device !== null };
}

function isProbability(text: unknown): text is string {
  const found = typeof text === "string" ? PROPENSITY_PATTERN.exec(text) : null;
  if (!found) return false;
  const [over, under] = [BigInt(found[1] ?? "0"), BigInt(found[2] ?? "1")];
  return over > 0n && over <= under;
}

/** What became of a request of a batch: "" if it counts, the code of a final refusal, or null: nobody knows yet. */
function readVerdict(item: unknown, good: ReadonlySet<string>): string | null {
  const status = readField(item, "status");
  const said = readField(readField(item, "answer"), "status");
  if (status === 200 && typeof said === "string" && good.has(said)) return "";
  const code = readProblemCode(readField(item, "problem"));
  if (FINAL.has(code)) return code;
  return status === 422 ? code || "invalid_value" : null;
}

/** What became of each request of a batch, or null if this does not answer so many. */
export function readVerdicts(reply: Reply, count: number, good: ReadonlySet<string>): (string | null)[] | null {
  const items = reply.status === 200 ? readField(reply.body, "items") : null;
  if (!Array.isArray(items) || items.length !== count) return null;
  return items.map((item) => readVerdict(item, good));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readField(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
