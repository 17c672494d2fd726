import { vi } from "vitest";
import { Agreed, Device, type DeviceOptions } from "../../src/web/index.js";
import { computeFingerprint } from "../../src/core/digests.js";
import { fromHex, readVectors } from "../vectors.js";

export const URL = "https://studies.example";
export const KEY = "mb_device_0123_4567";
export const TOKEN = "a token";
export const HOUR = 3_600_000;
const { place: SEALED } = readVectors("uploads").uploads[0];
export const [STUDY, TICKET, EXPOSED]: [string, string, number] = [SEALED.study, SEALED.ticket, SEALED.exposed];
export const [WINDOW, GRACE]: [number, number] = [SEALED.window, SEALED.grace];

export const PINNED = [
  await computeFingerprint(SEALED.operators[0]),
  await computeFingerprint(SEALED.operators[1]),
] as const;

const PASS = "5b".repeat(64);

type Table = Record<string, any>;

/** A place for two operators, as a backend hands it over. */
export const sealedPlace = (changes: Table = {}): Table => ({ ...structuredClone(SEALED), ...changes });

/** A place of local trust. */
export function localPlace(changes: Table = {}): Table {
  const { operators: _, terms, ...rest } = sealedPlace();
  const offer =
    "maskedbandit-offer-1 channel=Response n=100 steps=1 modulus=0 noise= terms=epsilon:1/2 position=7";
  return { ...rest, offer, terms: { protocol: terms.protocol }, ...changes };
}

const { place: MIXED } = readVectors("bundles").bundles[0];
export const [DELTA, SHUFFLER]: [string, string] = ["1/1000000", MIXED.operators[1].address];
const { place: SHARED } = readVectors("bundles").bundles.at(-1);

/** A place with a shuffler, of coins. */
export const mixedPlace = (changes: Table = {}): Table => ({ ...structuredClone(MIXED), ...changes });

/** One of noise shares, whose messages add up. */
export const sharedPlace = (changes: Table = {}): Table =>
  ({ ...structuredClone(SHARED), ticket: TICKET, ...changes });

export const [ROUND] = readVectors("rounds").rounds; // all messages of a device in the round of its cohort

/** The place of that device, of one attempt. */
export const roundPlace = (changes: Table = {}): Table =>
  ({ ...structuredClone(ROUND.place), rounds: { ...ROUND.place.rounds, attempts: 1 }, ...changes });

/** Make the browser draw what the device of the known round drew, until what is returned is called. */
export function fixRandom(): () => void {
  const page = fromHex(readVectors("samplers").pages[ROUND.first_page]);
  const spy = vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    (array as unknown as Uint8Array).set(array!.byteLength === 32 ? fromHex(ROUND.seed) : page);
    return array;
  });
  return () => spy.mockRestore();
}

/** The offer of a channel that adds noise, at this epsilon. */
export const offerLaplace = (epsilon: number, terms = ""): string =>
  `maskedbandit-offer-1 channel=Local n=100 steps=${epsilon} modulus=0 noise=DiscreteLaplace:1:1` +
  ` terms=${terms}epsilon:${epsilon} position=7`;

/** What can be seen of a request by whoever carries it, but for the letters of what is random. */
export interface Message {
  time: number;
  head: string;
  size: number;
  fields: Table; // of what is random its length, and the first message that had the same
}

/** A service in memory, which answers as the interface says and writes down all that can be seen. */
export class FakeService {
  time = EXPOSED;
  place: Table | null = null; // what `assign` hands out
  seen: Message[] = [];
  bodies: string[] = [];
  kept: Table[] = []; // reports that were taken
  left: string[] = [];
  withdrawn: Table[] = [];
  faults: Record<number, "lost" | "unanswered" | number> = {}; // by the number of the request
  refusal = ""; // of `assign`
  why: string | null = null; // nobody gets a place
  phase = 0; // of the known round
  pauses = false; // in each phase the device waits for others
  answers: string[] = []; // to it, in base64
  #first = new Map<string, number>();

  constructor() {
    vi.stubGlobal("fetch", (url: string, how: RequestInit) => this.#take(url, how));
  }

  get verbs(): string[] {
    return this.seen.map(({ head }) => head.replace(/ .*/, "").replace(/.*\//, ""));
  }

  async #take(url: string, how: RequestInit): Promise<Response> {
    const number = this.seen.length;
    const text = how.body as string;
    const body: Table = JSON.parse(text);
    const fields = Object.entries(body).map(([name, value]) => [name, this.#hide(name, value, number)]);
    const { body: _, signal: __, ...rest } = how;
    const head = `${url} ${JSON.stringify(rest)}`;
    this.seen.push({ time: this.time, head, size: text.length, fields: Object.fromEntries(fields) });
    this.bodies.push(text);
    const fault = this.faults[number];
    if (fault === "lost") throw new TypeError("Failed to fetch");
    if (typeof fault === "number") {
      return Response.json({ code: fault < 500 ? "too_many" : "unavailable" }, { status: fault });
    }
    const [status, said] = this.#answer(url.replace(/.*\//, ""), body);
    if (fault === "unanswered") throw new TypeError("Failed to fetch");
    return Response.json(said, { status });
  }

  #hide(name: string, value: unknown, number: number): unknown {
    if (name === "answers") {
      return (value as Table[]).map((each) => ({ ...each, message: this.#hide("sealed", each["message"], number) }));
    }
    if (!["report", "leader", "helper", "proof", "value", "sealed"].includes(name)) return value;
    const text = `${name} ${value}`;
    if (!this.#first.has(text)) this.#first.set(text, number);
    return name === "value" ? "noise" : [text.length, this.#first.get(text)];
  }

  #answer(verb: string, body: Table): [number, Table] {
    if (verb === "assign") {
      if (this.refusal) return [401, { code: this.refusal, detail: "no" }];
      const { study = STUDY, arm = "bold", ticket = null } = this.place ?? {};
      const payload = this.why ? "plain" : { colour: "red" };
      return [200, { study, arm, payload, ticket, device: this.place, why: this.place ? null : this.why }];
    }
    if (verb === "bundle") return this.#takeBundle(body);
    if (verb === "withdraw") {
      this.withdrawn.push(body);
      return [200, { status: "left" }];
    }
    if (body.ticket !== TICKET) return [404, { code: "unknown_ticket" }];
    if (verb === "pass") return [200, { status: "given", shown: PASS }];
    if (verb === "expose") return [200, { status: "exposed" }];
    if (verb === "round") return [200, this.#goRound(body["answers"])];
    if (verb === "leave") {
      this.left.push(body.ticket);
      return [200, { status: "left" }];
    }
    if (this.time > EXPOSED + WINDOW + GRACE) return [410, { code: "late" }];
    const had = this.kept.find((each) => each.turn === body.turn && each.metric === body.metric);
    if (had && JSON.stringify(had) !== JSON.stringify(body)) return [409, { code: "conflict" }];
    if (!had) this.kept.push(body);
    return [200, { status: had ? "duplicate" : verb === "upload" ? "stored" : "accepted" }];
  }

  /** The others of the known round are there when they are needed. */
  #goRound(answers: Table[]): Table {
    for (const { phase, message } of answers) {
      if (phase !== this.phase) continue;
      this.answers.push(message);
      this.phase += 1;
    }
    if (this.phase === ROUND.steps.length) return { due: null, over: true };
    if (this.pauses && answers.length) return { due: null, over: false };
    const message = Buffer.from(ROUND.steps[this.phase].received, "hex").toString("base64");
    const padded = message.replace(/\+/g, "-").replace(/\//g, "_");
    return { due: { ...ROUND.terms, phase: this.phase, message: padded }, over: false };
  }

  /** A shuffler takes one bundle of a place. */
  #takeBundle(body: Table): [number, Table] {
    if (body.shown !== PASS) return [409, { code: "forged" }];
    const [had] = this.kept;
    if (had && had.sealed !== body.sealed) return [409, { code: "conflict" }];
    if (!had) this.kept.push(body);
    return [200, { status: had ? "duplicate" : "stored" }];
  }
}

let books = 0;

/** A name of a book that no other test has. */
export const nameBook = (): string => `book ${books++}`;

const AGREED = new Agreed(1, { operators: PINNED, delta: DELTA, corrupted: "1/10" });

/** A device of somebody who agreed, whose clock is the service's. */
export async function makeDevice(
  service: FakeService,
  { name = nameBook(), agreed = AGREED, kind = Device, ...more }: MadeDevice = {},
): Promise<Device> {
  const device = new kind(name, URL, agreed, { key: KEY, clock: () => service.time, ...more });
  await device.consent(true);
  return device;
}

export type MadeDevice = DeviceOptions & { name?: string; agreed?: Agreed; kind?: typeof Device };

/** The code of the refusal of a call. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (wrong) {
    return `${(wrong as { code?: string }).code}: ${(wrong as Error).message}`;
  }
  return "taken";
}
