import type { KeptRound } from "../core/adding_up.js";
import { MaskedBanditError } from "../core/errors.js";
import { Fraction } from "../core/fractions.js";
import type { HandedOperator } from "../core/operators.js";
import { Database, type Stores, finish } from "./database.js";

export const PLACE_LEFT = "left"; // why a place has ended, beside the codes of the service's refusals
export const PLACE_ELSEWHERE = "elsewhere";

/** What holds of an outcome: an exact fraction in the units of the study, and, for two operators, rounded to steps. */
export interface Outcome {
  held: string;
  steps: number;
}

/** What is kept of a place as it was handed over. */
export type HandedPlace = { ticket: string } & Record<string, unknown>;

/** A place of the book. */
export interface BookedPlace {
  study: string;
  protocol: string;
  given: HandedPlace | null; // as it was handed over; null after the person left
  epsilon: string; // a fraction: what the place costs
  joined: number; // milliseconds
  exposed: number | null; // when the person saw the arm
  untold: boolean; // the service has not answered yet that it knows of that
  pass: string; // what the shuffler, if there is one, is shown of the place; empty until the service has given it
  usual: number; // steps of what counts without an outcome
  outcomes: Record<string, Outcome>; // by metric, that of the reward is empty
  rounds?: readonly KeptRound[]; // attempts at the sum of the cohort that the device joined, if devices add up
  ended: string; // why nothing more is sent; empty as long as something may be
}

/** A report that was made: one body, for ever. */
export interface MadeReport {
  study: string;
  turn: number;
  metric: string;
  made: number; // when, in milliseconds
  says: number; // steps of the outcome, or the number that is sent in its place
  size: number; // bytes of the request's body
  answer: string; // of the service; empty as long as there is none
  body: string; // empty once there is an answer, or a newer report
}

/** Somebody whom the service, or a shuffler, has still to forget. */
export interface Farewell {
  study: string;
  ticket?: string; // until the service has
  withdrawal?: { address: string; pass: string }; // until the shuffler has
}

const STORES = ["consent", "places", "reports", "farewells"];

/**
 * The device's own book in this browser: consent, places, what holds of each, and what was made and sent.
 *
 * A place stands in it for ever, also after the person left: no study gets a second one. All pages of an origin share
 * it, and each step is one transaction, so of two pages that do the same one comes first.
 */
export class DeviceBook {
  readonly #file: Database;

  constructor(readonly name: string) {
    this.#file = new Database(name, STORES, (database) => {
      database.createObjectStore("consent");
      database.createObjectStore("places", { keyPath: "study" }).createIndex("protocol", "protocol", { unique: true });
      database.createObjectStore("reports", { keyPath: ["study", "turn", "metric"] });
      database.createObjectStore("farewells", { keyPath: "study" });
    });
  }

  /** Whether the person agreed to take part in studies. */
  async consent(): Promise<boolean> {
    return this.#file.read(false, readConsent);
  }

  /** The person agreed. Only this makes a book. */
  async writeConsent(since: number): Promise<void> {
    await this.#file.create();
    await this.#file.write(undefined, async (stores) => {
      if (!(await readConsent(stores))) await finish(stores("consent").put(since, "since"));
    });
  }

  /** The person takes it back: all studies are left. */
  async withdrawConsent(): Promise<void> {
    await this.#file.write(undefined, async (stores) => {
      await finish(stores("consent").delete("since"));
      for (const booked of await readPlaces(stores)) await forgetPlace(stores, booked);
    });
  }

  /** All places, as they were taken. */
  async places(): Promise<BookedPlace[]> {
    return this.#file.read([], readPlaces);
  }

  /** The place in a study. */
  async find(study: string): Promise<BookedPlace | undefined> {
    return this.#file.read(undefined, async (stores) => readPlaceOf(stores, study));
  }

  /** All reports that were made in a study, in their order. */
  async reports(study: string): Promise<MadeReport[]> {
    return this.#file.read([], async (stores) => readReports(stores, study));
  }

  /**
   * Take a place, or refuse. `afford` refuses if it costs too much where others have cost so much.
   *
   * **Guarantee**: this book takes one place of a study, whatever the study is called when it comes again, and sends
   * nothing for a place that was given before this book knew of it.
   */
  async takePlace(place: BookedPlace, afford: (spent: Fraction) => void): Promise<void> {
    const had = await this.#file.write("none", async (stores) => {
      if (!(await readConsent(stores))) return "none";
      const all = await readPlaces(stores);
      const same = all.filter((each) => each.study === place.study || each.protocol === place.protocol);
      const [first] = same;
      if (!first) {
        afford(all.reduce((spent, each) => spent.plus(Fraction.fromText(each.epsilon)), new Fraction(0n)));
        await finish(stores("places").add(place));
        return place.ended;
      }
      if (first.ended === PLACE_LEFT || first.ended === PLACE_ELSEWHERE) return first.ended;
      const own = same.length === 1 && first.study === place.study && first.given?.ticket === place.given?.ticket;
      return own ? "" : "another";
    });
    if (had === "none") throw refuseWithoutConsent();
    if (had) throw refuseSpent(had);
  }

  /** Change a place that has not ended, if there is one; whether there was. */
  async change(study: string, change: (booked: BookedPlace) => BookedPlace): Promise<boolean> {
    return this.#file.write(false, async (stores) => {
      const booked = await readPlaceOf(stores, study);
      if (!booked || booked.ended) return false;
      await finish(stores("places").put(change(booked)));
      return true;
    });
  }

  /**
   * Keep reports that were made where `last` was the last one, unless another page came first or the place has ended.
   *
   * **Guarantee**: of one turn this book keeps one body, for ever.
   */
  async keepReports(study: string, last: number, made: MadeReport[]): Promise<boolean> {
    return this.#file.write(false, async (stores) => {
      const booked = await readPlaceOf(stores, study);
      const before = await readReports(stores, study);
      if (!booked || booked.ended || (before.at(-1)?.turn ?? -1) !== last || !(await readConsent(stores))) return false;
      for (const each of before) if (each.body) await finish(stores("reports").put({ ...each, body: "" }));
      for (const each of made) await finish(stores("reports").add(each));
      return true;
    });
  }

  /**
   * Keep what follows from what `before` says of the attempts at a sum, unless another page came first or the place has
   * ended.
   *
   * **Guarantee**: of one phase of an attempt this book keeps one answer, for ever.
   */
  async keepRounds(study: string, before: readonly KeptRound[], after: readonly KeptRound[]): Promise<boolean> {
    return this.#file.write(false, async (stores) => {
      const booked = await readPlaceOf(stores, study);
      if (!booked || booked.ended || !(await readConsent(stores))) return false;
      if (countSteps(booked.rounds ?? []) !== countSteps(before)) return false;
      await finish(stores("places").put({ ...booked, rounds: after } satisfies BookedPlace));
      return true;
    });
  }

  /** The service has answered a report; if the place has `ended`, nothing more is sent. */
  async settle(report: MadeReport, answer: string, ended: boolean): Promise<void> {
    await this.#file.write(undefined, async (stores) => {
      const found: unknown = await finish(stores("reports").get([report.study, report.turn, report.metric]));
      if (found) await finish(stores("reports").put({ ...report, answer, body: "" }));
      const booked = await readPlaceOf(stores, report.study);
      if (ended && booked && !booked.ended) await finish(stores("places").put({ ...booked, ended: answer }));
    });
  }

  /** Forget all of a study but that the person had a place, and what it cost; whether there was one. */
  async leave(study: string): Promise<boolean> {
    return this.#file.write(false, async (stores) => {
      const booked = await readPlaceOf(stores, study);
      if (booked) await forgetPlace(stores, booked);
      return booked !== undefined;
    });
  }

  /** Studies of which not all have heard yet that the person left. */
  async farewells(): Promise<Farewell[]> {
    return this.#file.read([], async (stores) => finish<Farewell[]>(stores("farewells").getAll()));
  }

  /** Either of both has erased what it had. */
  async settleFarewell(study: string, heard: "ticket" | "withdrawal"): Promise<void> {
    await this.#file.write(undefined, async (stores) => {
      const found = await finish<Farewell | undefined>(stores("farewells").get(study));
      if (!found) return; // another page heard it, too
      delete found[heard];
      if (found.ticket || found.withdrawal) await finish(stores("farewells").put(found));
      else await finish(stores("farewells").delete(study));
    });
  }

  /** Give it back. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}

const SPENT: Record<string, string> = {
  [PLACE_ELSEWHERE]: "this device was not the first to have this place: another, or a lost book, may have it",
  [PLACE_LEFT]: "the person left this study: it gets no second place",
  another: "this device has another place in this study: a person has one",
};

/** The refusal of all that needs the person's consent. */
export function refuseWithoutConsent(): MaskedBanditError {
  const message = "the person did not agree to take part in studies: call consent(true) when the person agrees";
  return new MaskedBanditError("no_consent", message);
}

/** The refusal of a place after another, or of one that is not this device's. */
export function refuseSpent(why: string): MaskedBanditError {
  return new MaskedBanditError("already_spent", SPENT[why] ?? why);
}

async function readConsent(stores: Stores): Promise<boolean> {
  return (await finish<unknown>(stores("consent").get("since"))) !== undefined;
}

async function readPlaces(stores: Stores): Promise<BookedPlace[]> {
  const found = await finish<BookedPlace[]>(stores("places").getAll());
  return found.sort((one, other) => one.joined - other.joined || (one.study < other.study ? -1 : 1));
}

async function readPlaceOf(stores: Stores, study: string): Promise<BookedPlace | undefined> {
  return finish<BookedPlace | undefined>(stores("places").get(study));
}

async function readReports(stores: Stores, study: string): Promise<MadeReport[]> {
  return finish<MadeReport[]>(stores("reports").getAll(reportsOf(study)));
}

/** Until a place has ended, all that is ever done to attempts is to add a step. */
const countSteps = (rounds: readonly KeptRound[]): number => rounds.reduce((sum, { steps }) => sum + steps.length, 0);

const reportsOf = (study: string): IDBKeyRange => IDBKeyRange.bound([study], [study, []]);

async function forgetPlace(stores: Stores, booked: BookedPlace): Promise<void> {
  if (!booked.given) return;
  const { study, protocol, epsilon, joined, given, pass } = booked;
  const left = { given: null, exposed: null, untold: false, pass: "", usual: 0, outcomes: {}, ended: PLACE_LEFT };
  await finish(stores("places").put({ study, protocol, epsilon, joined, ...left } satisfies BookedPlace));
  await finish(stores("reports").delete(reportsOf(study)));
  const farewell: Farewell = { study, ticket: given.ticket };
  if (pass) farewell.withdrawal = { address: (given["operators"] as HandedOperator[])[1]!.address, pass };
  await finish(stores("farewells").put(farewell));
}
