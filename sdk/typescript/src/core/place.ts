/** The place of this device's person, as the service made it. Whoever wrote it may have written anything. */
import { refusePersonalValue, refuseValue } from "./errors.js";
import { type Offer, readOffers } from "./offers.js";
import { type HandedOperator, readOperators } from "./operators.js";
import { OwnOutcome, isFiniteNumber } from "./outcomes.js";

const STUDY_TEXT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const TICKET_TEXT = /^[0-9a-z]{1,64}$/;
const DIGEST_TEXT = /^[0-9a-f]{64}$/;
const MIXING_CHANNELS = ["Shuffled", "SplitAndMix"];
const MOST_PLACE_REWARDS = 10 ** 4; // that may count: the largest cap of a study
export const LATEST_TIME = 2 ** 53; // milliseconds: numbers that JSON has exactly everywhere

/** A place that was read and is of the right form. Times are in milliseconds. */
export class OwnPlace {
  constructor(
    readonly study: string,
    readonly arm: string,
    readonly payload: unknown,
    readonly ticket: string,
    readonly again: boolean,
    readonly outcomes: readonly OwnOutcome[], // the reward, and further ones
    readonly protocol: string, // its digest, in hexadecimal
    readonly cohort: number | null, // of two operators, of whom the second may be a shuffler, or of devices that add up
    readonly operators: readonly HandedOperator[], // the leader and the helper; none under local trust
    readonly rounds: object | null, // what the devices of the cohort agree on, if they add up by themselves
    readonly exposed: number | null, // null: nobody said yet that the arm was seen
    readonly window: number,
    readonly grace: number,
  ) {}

  /** The offer for the reward. */
  get offer(): Offer {
    return this.outcomes[0]!.offer;
  }

  /** Whether this device alone makes its report private. */
  get isLocal(): boolean {
    return !this.operators.length && !this.rounds;
  }

  /** Whether the second operator is a shuffler. */
  get shuffled(): boolean {
    return this.operators.length > 0 && MIXING_CHANNELS.includes(this.offer.channel);
  }

  /** When the window ends, of a place whose arm was seen. */
  get end(): number {
    if (this.exposed === null) throw new TypeError("the window of a place begins when its arm is seen");
    return this.exposed + this.window;
  }

  /** Until when reports are taken. */
  get lastCall(): number {
    return this.end + this.grace;
  }

  /** The outcome of this name, empty for the reward. */
  findOutcome(metric: string): OwnOutcome {
    const found = this.outcomes.find((outcome) => outcome.metric === metric);
    if (found) return found;
    const names = this.outcomes.slice(1).map((outcome) => outcome.metric);
    throw refuseValue("metric", metric, [...names, "left out"].join(" or "));
  }
}

type Table = Readonly<Record<string, unknown>>;

/** The place in an object of JSON, or a refusal with the name of what is wrong. */
export function readPlace(given: unknown): OwnPlace {
  if (!isTable(given)) throw refuseValue("place", "not shown", "an object of JSON, as the service made it");
  const terms = isTable(given.terms) ? given.terms : {};
  const sealed = given.operators !== undefined && given.operators !== null;
  const rounds = given.rounds ?? null;
  if (rounds !== null && (sealed || !isTable(rounds))) {
    throw refuseValue("rounds of a place", "given", sealed ? "left out, as it has operators" : "an object of JSON");
  }
  const { again, arm = "", offer = "" } = given;
  const readers = [readBounds("a place", "", given), ...readFurtherOutcomes(given.further ?? [])];
  if (typeof again !== "boolean") throw refuseValue("again of a place", again, "true or false");
  if (typeof arm !== "string") throw refuseValue("arm of a place", arm, "a text");
  const window = readWhole("window of a place", given.window);
  const grace = readWhole("grace of a place", given.grace);
  const offers = readOffers(offer);
  if (offers.length !== readers.length) {
    throw refuseValue("offers of a place", offers.length, `${readers.length}, one for each outcome`);
  }
  return new OwnPlace(
    readText("study of a place", given.study, STUDY_TEXT, "the name of a study"),
    arm,
    given.payload ?? null,
    readText("ticket of a place", given.ticket, TICKET_TEXT, "a ticket"),
    again,
    offers.map((offer, at) => readers[at]!(offer)),
    readText("protocol of a place", terms.protocol, DIGEST_TEXT, "64 hexadecimal digits"),
    sealed || rounds ? readWhole("cohort of a place", terms.cohort) : null,
    sealed ? readOperators(given.operators) : [],
    rounds,
    given.exposed === null ? null : readWhole("exposed of a place", given.exposed),
    window,
    grace,
  );
}

/** From where to where an outcome is, and what counts for somebody without one; the offer follows. */
function readBounds(where: string, metric: string, given: Table): (offer: Offer) => OwnOutcome {
  const { least = 0, most = 1, cap = 1, default: fallback } = given;
  if (!isWhole(cap) || cap < 1 || cap > MOST_PLACE_REWARDS) {
    throw refuseValue(`cap of ${where}`, cap, `a whole number from 1 to ${MOST_PLACE_REWARDS}`);
  }
  if (!isFiniteNumber(least) || !isFiniteNumber(most) || least >= most) {
    throw refuseValue(`least and most of ${where}`, [least, most], "two numbers, the least first");
  }
  if (cap > 1 && least !== 0) throw refuseValue(`least of ${where}`, least, "0, as several rewards are added up");
  if (!isFiniteNumber(fallback) || fallback < least || fallback > most) {
    throw refuseValue(`default of ${where}`, fallback, `a number from ${least} to ${most}`);
  }
  return (offer) => new OwnOutcome(metric, offer, least, most, fallback, cap);
}

/** The bounds of each further outcome: the guardrail, if there is one, and the metrics. */
function readFurtherOutcomes(given: unknown): ((offer: Offer) => OwnOutcome)[] {
  if (!Array.isArray(given) || !given.every(isTable)) {
    throw refuseValue("further outcomes of a place", "not shown", "a list of objects of JSON");
  }
  const called = "name of a further outcome";
  const names = given.map(({ name }) => readText(called, name, STUDY_TEXT, "the name of an outcome"));
  if (new Set(names).size < names.length) throw refuseValue(called, names.join(", "), "different from the others");
  return given.map((each, at) => readBounds(names[at]!, names[at]!, each));
}

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isWhole = (value: unknown): value is number => Number.isInteger(value);

/** A text of this pattern; it is not shown, as it may be a secret. */
function readText(name: string, value: unknown, pattern: RegExp, allowed: string): string {
  if (typeof value !== "string" || !pattern.test(value)) throw refusePersonalValue(name, allowed);
  return value;
}

/** A whole number that is not negative. */
function readWhole(name: string, value: unknown): number {
  if (!isWhole(value) || value < 0 || value > LATEST_TIME) {
    throw refuseValue(name, value, `a whole number from 0 to ${LATEST_TIME}`);
  }
  return value;
}
