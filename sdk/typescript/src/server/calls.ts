/** Requests to the service: the answer, or that there is none, by a deadline. Times are in milliseconds. */

import { refuseValue } from "../core/errors.js";
import { NO_REPLY, parseJson, readRetryAfter, type Reply } from "./answers.js";

const LONGEST_ANSWER = 2 ** 23; // bytes

/** The address of a service, without a slash at its end. */
export function checkUrl(url: string): string {
  const parts = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  const plain = parts && !parts.username && !parts.password && !parts.search && !parts.hash;
  if (!plain || !["http:", "https:"].includes(parts.protocol)) {
    throw refuseValue("url", "not shown", "such as https://studies.example.org, without a password in it");
  }
  return url.replace(/\/+$/, "");
}

/** Throw unless this can be a key. */
export function checkKey(key: string): void {
  if (typeof key !== "string" || !/^[!-~]{1,512}$/.test(key)) {
    throw refuseValue("key", "not shown", "a key of the service, of ASCII characters and without spaces");
  }
}

export class Calls {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #running = new Set<() => void>(); // what gives up each request that is under way

  constructor(url: string, key: string) {
    this.#url = url;
    this.#headers = {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      Accept: "application/json",
      "User-Agent": "maskedbandit",
    };
  }

  /** One request: the reply, or `NO_REPLY`. The time is for the whole of it. */
  async post(path: string, body: unknown, timeout: number, given = new AbortController()): Promise<Reply> {
    const stop = () => given.abort();
    const timer = setTimeout(stop, timeout);
    this.#running.add(stop);
    try {
      const response = await fetch(this.#url + path, {
        method: "POST",
        headers: this.#headers,
        body: JSON.stringify(body),
        redirect: "error", // what a service says goes to nobody else
        signal: given.signal,
      });
      const content = await readAll(response.body);
      if (content === null) return NO_REPLY;
      const retryAfter = readRetryAfter(response.headers.get("Retry-After"));
      return { status: response.status, body: parseJson(content), retryAfter };
    } catch {
      return NO_REPLY;
    } finally {
      clearTimeout(timer);
      this.#running.delete(stop);
    }
  }

  /**
   * A request and, if it fails or takes half of the time, one more that says the same; the first answer.
   *
   * The first one is not given up when the second one starts: a service that is only slow still answers in time.
   */
  async ask(path: string, body: unknown, deadline: number, answers: (reply: Reply) => boolean): Promise<Reply> {
    const end = performance.now() + deadline;
    const settles = (reply: Reply) => answers(reply) || (reply.status >= 400 && reply.status < 500);
    const given = new AbortController();
    try {
      const first = this.post(path, body, deadline, given);
      const early = await Promise.race([first, pause(deadline / 2, given.signal)]);
      if (early && (settles(early) || early.retryAfter)) return early;
      const second = this.post(path, body, end - performance.now(), given);
      const settled = [first, second].map(async (request) => {
        const reply = await request;
        return settles(reply) ? reply : Promise.reject(reply);
      });
      return await Promise.any(settled).catch(async () => {
        const replies = await Promise.all([first, second]);
        return replies.reduce((best, reply) => (reply.status > best.status ? reply : best));
      });
    } finally {
      given.abort();
    }
  }

  /** Give up what is under way. */
  close(): void {
    for (const stop of this.#running) stop();
  }
}

/** Nothing, after a time or when it is not waited for any more. */
function pause(length: number, signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, length, null);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(null)), { once: true });
  });
}

/** All that comes, or null if that is too much. */
async function readAll(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  const reader = body?.getReader();
  for (let length = 0; ; ) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
    if ((length += value.length) > LONGEST_ANSWER) {
      await reader?.cancel(); // else the connection stays, and what comes of it waits
      return null;
    }
  }
}
