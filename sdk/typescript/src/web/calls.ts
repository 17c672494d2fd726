import { MaskedBanditError, refuseValue } from "../core/errors.js";
import { SERVICE_URL } from "../core/operators.js";

const PATIENCE = 10_000; // milliseconds for a whole request
const MOST_ANSWER = 2 ** 22; // bytes: of the keys of all neighbours in a round, with the proof that they are all's
const MOST_KEPT_ALIVE = 60_000; // bytes of a body that browsers send on after its page was closed
const TAKEN = new Set(["stored", "accepted", "duplicate"]);
export const ENDS = new Set(["late", "unknown_ticket"]); // refusals after which nothing of a place is sent any more
const REFUSALS = new Set([...ENDS, "conflict"]); // the service has another report of this turn
const DEVICE_KEY = /^mb_device_[!-~]{1,200}$/;

/** The device key of a study, or of each study by its name. */
export type DeviceKeys = string | Record<string, string>;

/** What came back: a status, 0 if nothing came, and an object, empty if the service was not what answered. */
export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/** The way to the service: one attempt for each request. Nothing of the page goes with it: no cookie and no address. */
export class Calls {
  readonly #url: string;
  readonly #keys: DeviceKeys;

  constructor(url: string, keys: DeviceKeys = {}) {
    if (!SERVICE_URL.test(url)) {
      throw refuseValue("url", "not shown", "such as https://studies.example.org, without a password in it");
    }
    const all = typeof keys === "string" ? [keys] : Object.values(keys);
    if (!all.every((key) => DEVICE_KEY.test(key))) {
      throw refuseValue("key", "not shown", "a device key, mb_device_...: all other keys are secrets of a backend");
    }
    this.#url = url.replace(/\/$/, "");
    this.#keys = keys;
  }

  /** The answer to a request about a study. */
  async post(study: string, action: string, body: string): Promise<Reply> {
    const headers: Record<string, string> = { "Content-Type": "application/json", Accept: "application/json" };
    const key = this.findKey(study);
    if (key) headers["Authorization"] = `Bearer ${key}`;
    try {
      const response = await fetch(`${this.#url}/v1/studies/${study}/${action}`, {
        method: "POST",
        headers,
        body,
        credentials: "omit",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        redirect: "error",
        keepalive: body.length < MOST_KEPT_ALIVE, // a page that is closed has sent what it began to send
        signal: AbortSignal.timeout(PATIENCE),
      });
      return { status: response.status, body: parseObject(await readText(response)) };
    } catch {
      return { status: 0, body: {} };
    }
  }

  /** The device key of a study; empty if there is none. */
  findKey(study: string): string {
    if (typeof this.#keys === "string") return this.#keys;
    return Object.hasOwn(this.#keys, study) ? this.#keys[study]! : "";
  }

  /** Refuse what needs the device key of a study, if there is none. */
  checkKey(study: string): void {
    if (!this.findKey(study)) {
      throw refuseValue("key", "missing", `a device key of ${study}, which comes with the application`);
    }
  }
}

/** What the service said in an answer, or nothing: a page of the network on the way has a status, too. */
export function readWord(reply: Reply): string {
  const word = reply.body[reply.status === 200 ? "status" : "code"];
  return typeof word === "string" && /^[a-z_]{1,64}$/.test(word) ? word : "";
}

/** The answer of the service to a report, or nothing if there is none yet. */
export function readAnswer(reply: Reply): string {
  const word = readWord(reply);
  return (reply.status === 200 ? TAKEN : REFUSALS).has(word) ? word : "";
}

/** What the service refused, in its own words; or that it did not answer. */
export function refuseReply(reply: Reply): MaskedBanditError {
  const code = reply.status >= 400 && reply.status < 500 ? readWord(reply) : "";
  if (!code) return new MaskedBanditError("unreachable", "the service did not answer");
  return new MaskedBanditError(code, `the service refuses the request: ${code}`);
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_ANSWER) throw new RangeError("a longer answer than any of the service");
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found) ? { ...found } : {};
  } catch {
    return {};
  }
}
