import type { Agreed } from "../core/agreed.js";
import { type PersonAttributes, writeAttributes } from "../core/attributes.js";
import { MaskedBanditError, refuseValue } from "../core/errors.js";
import { LATEST_TIME, type OwnPlace, readPlace } from "../core/place.js";
import { chooseTurn } from "../core/turns.js";
import { type ShownArm, readAnsweredArm } from "./answered_arm.js";
import {
  type BookedPlace,
  DeviceBook,
  type MadeReport,
  PLACE_ELSEWHERE,
  refuseSpent,
  refuseWithoutConsent,
} from "./book.js";
import { Calls, type DeviceKeys, ENDS, readAnswer } from "./calls.js";
import { askPass, sayFarewell, sendReport, tellExposure } from "./contacts.js";
import { findLast, holdOutcome, isSealed, makeReports, roundDefault } from "./reports.js";
import { goOnAdding } from "./round_contacts.js";
import { type StudyOnDevice, showStudy } from "./shown.js";

const CLOCK_SLACK = 86_400_000; // milliseconds by which a clock may be behind when a place is taken
const STUDY_TEXT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const PLACE_FIELDS = [
  ...["study", "arm", "payload", "ticket", "again", "offer", "terms", "operators", "exposed", "window", "grace"],
  ...["least", "most", "default", "cap", "further", "rounds"],
]; // what is kept of a place

/** What an application may say about a device. */
export interface DeviceOptions {
  /** The device key, `mb_device_...`, or that of each study; to `join` places of two operators needs none. */
  key?: DeviceKeys;
  /** "standing", where a person may not come back, or "deadline", where the application runs after the window. */
  reports?: "standing" | "deadline";
  /** Milliseconds since 1970. */
  clock?: () => number;
}

/**
 * The device of one person: this browser, for the pages of one origin and one service.
 *
 * **Guarantee**: what anybody sees of a device does not depend on an outcome but by what is reported of it, which is
 * sealed for two operators, mixed with what others report, or has its noise: not on whether and when it was recorded,
 * how often, and its value. It depends on when the application called `assign`, `join`, `expose`, `contact` and
 * `leave`, which must not depend on it either.
 */
export class Device {
  readonly #agreed: Agreed;
  readonly #book: DeviceBook;
  readonly #calls: Calls;
  readonly #standing: boolean;
  readonly #clock: () => number;

  /** @param name of the book in this browser, one for each person: those of other names know nothing of it */
  constructor(name: string, url: string, agreed: Agreed, options: DeviceOptions = {}) {
    const { key, reports = "standing", clock = Date.now } = options;
    if (reports !== "standing" && reports !== "deadline") {
      throw refuseValue("reports", reports, "'standing' or 'deadline'");
    }
    this.#agreed = agreed;
    this.#book = new DeviceBook(name);
    this.#calls = new Calls(url, key);
    this.#standing = reports === "standing";
    this.#clock = () => {
      const now = Math.trunc(clock());
      if (now >= 0 && now <= LATEST_TIME) return now;
      throw new MaskedBanditError("wrong_clock", "the clock of this device gives no time since 1970");
    };
  }

  /** The person takes part in studies, or no longer does: then all of them are left. */
  async consent(given: boolean): Promise<void> {
    if (given) return this.#book.writeConsent(this.#clock());
    await this.#book.withdrawConsent();
    await sayFarewell(this.#book, this.#calls);
  }

  /**
   * The person comes: the arm that she gets, from the service, or from the book if she came before.
   *
   * The device takes her place, and says nothing else of her before `expose`. If she has a place that this device does
   * not have, she gets her arm, and nothing is ever sent of it.
   *
   * The attributes are what the rules of the study on who is enrolled are about. Whomever these turn away gets the
   * default arm, and the service is asked again the next time.
   */
  async assign(study: string, unit: string, token: string, attributes?: PersonAttributes): Promise<ShownArm> {
    if (!STUDY_TEXT.test(study)) throw refuseValue("study", study, "the name of a study");
    this.#calls.checkKey(study);
    const body = JSON.stringify({ unit, token, ...writeAttributes(attributes) });
    const ask = (): Promise<ShownArm> => this.#assign(study, body);
    const lock = `maskedbandit ${this.#book.name} ${study}`; // a second page waits for the first one's place
    return globalThis.navigator?.locks ? navigator.locks.request(lock, ask) : ask();
  }

  async #assign(study: string, body: string): Promise<ShownArm> {
    await this.#checkConsent();
    const had = await this.#book.find(study);
    if (had && !had.given) throw refuseSpent(had.ended);
    if (had) return pickArm(this.#read(had), had.ended);
    const reply = await this.#calls.post(study, "assign", body);
    const { shown, place } = readAnsweredArm(reply, study);
    if (!place) return shown;
    try {
      await this.#take(place, false);
    } catch (wrong) {
      if ((await this.#book.find(study))?.ended !== PLACE_ELSEWHERE) throw wrong;
      return { ...shown, why: PLACE_ELSEWHERE };
    }
    return shown;
  }

  /**
   * Take the place that the application's backend hands over when the person sees the arm, and be in contact.
   *
   * A refusal has the name of what is not as the person agreed. To join again is to be in contact.
   */
  async join(place: unknown): Promise<void> {
    await this.#checkConsent();
    await this.#take(place, true);
    await this.contact();
  }

  /** The person sees the arm of `assign`: the service is told, in this contact; whether it will hear of the outcome. */
  async expose(study: string): Promise<boolean> {
    await this.#checkConsent();
    const now = this.#clock();
    await this.#book.change(study, (booked) =>
      booked.exposed === null ? { ...booked, exposed: now, untold: true } : booked,
    );
    await this.contact();
    return (await this.#book.find(study))?.ended === "";
  }

  /**
   * What became of the person, on the disk when this is kept; whether it can still count. It sends nothing.
   *
   * Of several outcomes the last one counts; rewards of a study with a cap add up.
   */
  async record(study: string, value: number, metric = ""): Promise<boolean> {
    await this.#checkConsent();
    const now = this.#clock();
    const booked = await this.#book.find(study);
    if (!booked || booked.ended || booked.exposed === null) return false;
    const place = this.#read(booked);
    if (now > place.end) return false;
    return this.#book.change(study, (found) => holdOutcome(place, found, metric, value));
  }

  /** Send what is due. To be called whenever the application runs, and never because of an outcome. */
  async contact(): Promise<void> {
    await sayFarewell(this.#book, this.#calls);
    if (!(await this.#book.consent())) return;
    const places = [];
    for (const { study } of await this.#book.places()) {
      const booked = await this.#book.find(study); // she may have left while the service was asked about another
      if (!booked || booked.ended || booked.exposed === null) continue;
      const place = this.#read(booked);
      if (!(await this.#maySend(place))) continue;
      if (booked.untold && !(await tellExposure(this.#book, this.#calls, place))) continue;
      if (place.shuffled && !booked.pass) await askPass(this.#book, this.#calls, place);
      places.push(place);
    }
    for (const place of places) await (place.rounds ? this.#addUp(place) : this.#report(place));
  }

  /** Erase what there is of a study, here at once, and at the service when it can be reached. */
  async leave(study: string): Promise<void> {
    if (!(await this.#book.leave(study))) {
      throw new MaskedBanditError("unknown_study", `this device is in no study ${JSON.stringify(study)}`);
    }
    await sayFarewell(this.#book, this.#calls);
  }

  /** All that the person may want to know: which studies, what was sent when, what it costs, and to whom. */
  async show(): Promise<StudyOnDevice[]> {
    const found = [];
    for (const booked of await this.#book.places()) {
      const place = booked.given ? this.#read(booked) : null;
      found.push(showStudy(booked, place, await this.#book.reports(booked.study)));
    }
    return found;
  }

  /** Give the book back. */
  async close(): Promise<void> {
    await this.#book.close();
  }

  /** Take a place. A time of exposure in the future says that this clock is behind: then she sees the arm now. */
  async #take(given: unknown, seen: boolean): Promise<void> {
    const now = this.#clock();
    const place = readPlace(given);
    if (!place.grace && !place.rounds && !(this.#standing && isSealed(place) && !place.shuffled)) {
      throw refuseValue("grace of a place", place.grace, "above 0, as this device reports after the window");
    }
    if (place.isLocal) this.#calls.checkKey(place.study);
    const epsilon = await this.#agreed.check(place);
    const booked: BookedPlace = {
      study: place.study,
      protocol: place.protocol,
      given: { ...pickFields(given as object), ticket: place.ticket },
      epsilon: `${epsilon}`,
      joined: now,
      exposed: place.exposed === null ? (seen ? now : null) : Math.min(place.exposed, now),
      untold: false,
      pass: "",
      usual: roundDefault(place),
      outcomes: {},
      ended: place.again ? PLACE_ELSEWHERE : "",
    };
    await this.#book.takePlace(booked, (spent) => {
      checkClock(place, now);
      this.#agreed.checkCost(epsilon, spent);
    });
  }

  /** The place of somebody who did not leave. */
  #read(booked: BookedPlace): OwnPlace {
    return readPlace({ ...booked.given, exposed: booked.exposed });
  }

  /** Whether the application still has what reports of a place need: it may have other operators by now. */
  async #maySend(place: OwnPlace): Promise<boolean> {
    if (place.isLocal) return this.#calls.findKey(place.study) !== "";
    return this.#agreed.trusts(place).catch(() => false); // what it needs is loaded now: the network may be away
  }

  /** Take part in the round of the cohort, from the end of the window on. */
  async #addUp(place: OwnPlace): Promise<void> {
    const now = this.#clock();
    if (now > place.end) await goOnAdding(this.#book, this.#calls, place, now);
  }

  /** Send what is due of a place. */
  async #report(place: OwnPlace): Promise<void> {
    for (const report of await this.#takeReports(place)) {
      if ((await this.#book.find(place.study))?.ended !== "") return; // she left while the one before was sent
      const answer = readAnswer(await sendReport(this.#calls, place, report.body));
      if (answer) await this.#book.settle(report, answer, ENDS.has(answer));
    }
  }

  /** The reports that a contact sends, made now unless they were made before: what another page made stays. */
  async #takeReports(place: OwnPlace): Promise<MadeReport[]> {
    for (;;) {
      const booked = await this.#book.find(place.study);
      if (!booked || booked.ended || (place.shuffled && !booked.pass)) return [];
      const before = await this.#book.reports(place.study);
      const now = this.#clock();
      const last = findLast(before);
      const turn = chooseTurn(place, last, now, this.#standing);
      if (turn === null) return [];
      if (turn === last?.turn) return before.filter((each) => each.turn === turn && each.body);
      const made = await makeReports(place, booked, turn, now);
      if (await this.#book.keepReports(place.study, last?.turn ?? -1, made)) return made;
    }
  }

  async #checkConsent(): Promise<void> {
    if (!(await this.#book.consent())) throw refuseWithoutConsent();
  }
}

const pickArm = ({ arm, payload }: OwnPlace, why: string): ShownArm => ({ arm, payload, why });

/** Refuse a new place by a clock that is wrong, or that says that it is too late. */
function checkClock(place: OwnPlace, now: number): void {
  if (place.exposed === null) return;
  if (place.exposed > now + CLOCK_SLACK) {
    const message = "by the clock of this device, which is more than a day behind, the arm was not seen yet";
    throw new MaskedBanditError("wrong_clock", message);
  }
  if (now > place.lastCall && !place.rounds) {
    throw new MaskedBanditError("late", "by the clock of this device the time for reports of this place is over");
  }
}

function pickFields(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => PLACE_FIELDS.includes(name)));
}
