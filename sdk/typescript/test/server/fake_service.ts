/** A service on loopback that keeps what the table of the interface promises, and has faults. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const STUDY = "newsletter";
export const KEY = "mb_client_secret-of-tests";

type Body = Record<string, unknown>;
type Headers = Record<string, string>;
type Lost = "drop request" | "drop response" | "duplicate" | "reorder";
export type Fault = Lost | "unavailable" | "too many" | "hang" | "drip";

export class FakeService {
  readonly places = new Map<string, Body>();
  readonly exposed = new Set<string>();
  readonly reports = new Map<string, number>(); // by ticket and event
  readonly told = new Map<string, number>(); // by ticket, event and proof
  readonly left: string[] = [];
  readonly late = new Set<string>();
  readonly sent: { path: string; body: string; headers: IncomingMessage["headers"] }[] = [];
  arms: [string, unknown][] = [
    ["plain", { subject: "Hello" }],
    ["bold", { subject: "HELLO" }],
  ];
  /** By the end of a path a status with which it is refused. */
  state: Record<string, number> = {};
  /** What happens to the next requests: a fault, a body that is answered, a header, or nothing. */
  fault: (path: string) => Fault | Buffer | Headers | undefined = () => undefined;
  extra: Body = {};
  enrols = true;
  overBudget = new Set<string>();
  #held: [string, string][] = [];
  #server: Server | undefined;

  async start(port = 0): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => this.#server?.listen(port, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const path = request.url ?? "";
    this.sent.push({ path, body: text, headers: request.headers });
    const fault = this.fault(path);
    if (fault === "hang") return;
    if (fault === "drop request") return void response.destroy();
    if (fault === "unavailable") return send(response, 503, "away");
    if (fault === "too many") return send(response, 429, refuse(429, "too_many")[1], { "Retry-After": "0" });
    if (fault === "drip") {
      const timer = setInterval(() => response.write(" "), 1);
      return void response.on("close", () => clearInterval(timer));
    }
    if (fault instanceof Buffer) return send(response, 200, fault);
    if (fault === "reorder") {
      this.#held.push([path, text]); // it arrives after what is sent later
      return void response.destroy();
    }
    if (typeof fault === "object") return send(response, "Location" in fault ? 302 : 503, "", fault as Headers);
    const [status, answer] = this.handle(path, text);
    if (fault === "duplicate") this.handle(path, text);
    for (const [old, body] of this.#held.splice(0)) this.handle(old, body);
    if (fault === "drop response") return void response.destroy();
    send(response, status, answer);
  }

  handle(path: string, text: string): [number, unknown] {
    const body = JSON.parse(text) as Body;
    const [study = "", ...rest] = path.replace("/v1/studies/", "").split("/");
    const known: Record<number, string> = { 409: "not_running", 404: "unknown_study", 401: "unauthorized" };
    for (const [ending, status] of Object.entries(this.state)) {
      if (path.endsWith(ending)) return refuse(status, known[status] ?? "x");
    }
    if (study.startsWith("unknown")) return refuse(404, "unknown_study");
    if (rest[0] === "assign") return this.#assign(study, String(body["unit"]));
    if (rest[0] === "leave") {
      if (!this.#isKnown(body["ticket"])) return refuse(404, "unknown_ticket");
      for (const [key, place] of this.places) if (place["ticket"] === body["ticket"]) this.places.delete(key);
      this.left.push(String(body["ticket"]));
      return [200, { status: "left" }];
    }
    const one = rest[0] === "expose" ? this.#expose.bind(this) : this.#report.bind(this);
    const items = (body["requests"] as Body[]).map((request) => {
      const [status, answer] = one(request);
      return status === 200 ? { status, answer } : { status, problem: answer };
    });
    return [200, { items }];
  }

  #assign(study: string, unit: string): [number, unknown] {
    const key = `${study}\n${unit}`;
    const before = this.places.get(key);
    const number = this.places.size;
    const enrols = this.enrols && !this.overBudget.has(unit);
    const [arm, payload] = (enrols ? this.arms[number % this.arms.length] : this.arms.at(-1)) ?? ["", null];
    const why = this.overBudget.has(unit) ? "budget_exceeded" : null;
    const given: Body = { study, arm, payload, ticket: null, propensity: "1", again: false, why };
    if (enrols && !before) {
      this.places.set(key, { ...given, ticket: `ticket${number}`, propensity: "1/2", ...this.extra });
    }
    return [200, { ...(this.places.get(key) ?? given), again: before !== undefined }];
  }

  #expose({ ticket }: Body): [number, unknown] {
    if (!this.#isKnown(ticket)) return refuse(404, "unknown_ticket");
    this.exposed.add(String(ticket));
    return [200, { status: "exposed" }];
  }

  #report(body: Body): [number, unknown] {
    const { ticket, value, event, proof, metric } = body as { ticket: string; value: number } & Record<string, string>;
    const name = metric ? `${metric} ${event}` : String(event);
    if (!this.#isKnown(ticket)) return refuse(404, "unknown_ticket");
    if (this.late.has(ticket)) return refuse(410, "late");
    if (value < -1000 || value > 1000) return refuse(422, "reward_out_of_range");
    if (!this.exposed.has(ticket)) return refuse(409, "not_exposed");
    const key = `${ticket}\n${name}`;
    if (!this.reports.has(key)) this.reports.set(key, value);
    const before = this.told.get(`${key}\n${proof}`);
    if (before !== undefined && before !== value) return refuse(409, "conflict");
    this.told.set(`${key}\n${proof}`, value);
    return [200, { status: before === undefined ? "accepted" : "duplicate" }];
  }

  #isKnown(ticket: unknown): boolean {
    return [...this.places.values()].some((place) => place["ticket"] === ticket);
  }
}

function refuse(status: number, code: string): [number, unknown] {
  return [status, { type: "about:blank", title: "x", status, code, detail: "in words" }];
}

function send(response: ServerResponse, status: number, body: unknown, headers: Headers = {}): void {
  response.writeHead(status, headers);
  response.end(typeof body === "string" || body instanceof Buffer ? body : JSON.stringify(body));
}

export const GARBAGE = [
  "",
  "null",
  "[]",
  "<html>",
  '{"items": []}',
  '{"items": [null]}',
  '{"study": 1}',
  "[".repeat(100_000),
  '{"study": "newsletter", "arm": "bold", "ticket": "NOT ONE", "propensity": "1/2", "again": false}',
  '{"study": "newsletter", "arm": "bold", "ticket": "abc", "propensity": "1/0", "again": false}',
  '{"study": "newsletter", "arm": "bold", "ticket": "abc", "propensity": "3/2", "again": false}',
  '{"study": "another", "arm": "bold", "ticket": "abc", "propensity": "1/2", "again": false}',
]
  .map((text) => Buffer.from(text))
  .concat(Buffer.from([0xff]));
