import type { Agreed } from "../core/agreed.js";
import { Bits } from "../core/bits.js";
import { writeHex } from "../core/bytes.js";
import { MaskedBanditError, refuseValue } from "../core/errors.js";
import { type OwnPlace, readPlace } from "../core/place.js";
import { type BookedPlace, DeviceBook, type MadeReport, PLACE_ELSEWHERE, refuseSpent, refuseWithoutConsent } from "./book.js";
import { Calls, ENDS, readAnswer, readWord, refuseReply } from "./calls.js";
import { chooseReports, holdOutcome, isSealed, makeReports, roundDefault } from "./reports.js";
import { type StudyOnDevice, showStudy } from "./shown.js";

const STUDY_TEXT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const PLACE_FIELDS = [
  ...["study", "arm", "payload", "ticket", "again", "offer", "terms", "operators", "exposed", "window", "grace"],
  ...["least", "most", "default", "cap", "guardrail"],
]; // what is kept of a place

/** Of one study of `assign`. */
export interface Assigned {
  arm: string;
  payload: unknown;
  taken: boolean; // whether this device has the place, and what becomes of the person counts
}

/** What an application may say about a device. */
export interface DeviceOptions {
  /** The device key of the study, `mb_device_...`; a place for two operators that a backend hands over needs none. */
  key?: string;
  /** "standing", where a person may not come back, or "deadline", where the application runs after the window. */
  reports?: "standing" | "deadline";
  /** Milliseconds since 1970. */
  clock?: () => number;
}

/**
 * The device of one person: this browser, for the pages of one origin and one service.
 *
 * **Guarantee**: what anybody sees of a device does not depend on an outcome but by what is reported of it, which is
 * sealed for two operators or has its noise: not on whether and when it was recorded, how often, and its value. It
 * depends on when the application called `assign`, `join`, `expose`, `contact` and `leave`, which must not depend on it.
 */
export class Device {
  readonly #agreed: Agreed;
  readonly #book: DeviceBook;
  readonly #calls: Calls;
  readonly #standing: boolean;
  readonly #clock: () => number;
  readonly #bits = new Bits();

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
    this.#clock = () => Math.trunc(clock());
  }

  /** The person takes part in studies, or no longer does: then all of them are left. */
  async consent(given: boolean): Promise<void> {
    if (given) return this.#book.writeConsent(this.#clock());
    await this.#book.withdrawConsent();
    await this.#sayFarewell();
  }

  /**
   * The person comes: the arm that she gets, from the service, or from the book if she came before.
   *
   * The device takes her place, and says nothing else of her before `expose`. If she has a place that this device does
   * not have, she gets her arm, and nothing is ever sent of it.
   */
  async assign(study: string, unit: string, token: string): Promise<Assigned> {
    if (!STUDY_TEXT.test(study)) throw refuseValue("study", study, "the name of a study");
    const lock = `maskedbandit ${this.#book.name} ${study}`; // a second page waits for the place that the first one gets
    const ask = (): Promise<Assigned> => this.#assign(study, unit, token);
    return globalThis.navigator?.locks ? navigator.locks.request(lock, ask) : ask();
  }

  async #assign(study: string, unit: string, token: string): Promise<Assigned> {
    await this.#checkConsent();
    const had = await this.#book.find(study);
    if (had && !had.given) throw refuseSpent(had.ended);
    if (had) return { ...pickArm(this.#read(had)), taken: had.ended !== PLACE_ELSEWHERE };
    const reply = await this.#calls.post(study, "assign", JSON.stringify({ unit, token }), true);
    const { arm, payload = null, device, ticket } = reply.body;
    if (reply.status !== 200 || typeof arm !== "string") throw refuseReply(reply);
    if (!ticket) return { arm, payload, taken: false };
    if (!device) {
      throw refuseValue("trust of a study", "central", "local or two operators: a backend reports what becomes of people");
    }
    const again = (device as { again?: unknown }).again === true;
    await this.#take({ ...(device as object), payload }, false).catch((wrong: unknown) => {
      if (!again || !(wrong instanceof MaskedBanditError) || wrong.code !== "already_spent") throw wrong;
    });
    return { arm, payload, taken: !again };
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

  /** The person sees the arm of a place that `assign` took: the service is told, and this is a contact. */
  async expose(study: string): Promise<void> {
    await this.#checkConsent();
    await this.#find(study);
    const now = this.#clock();
    await this.#book.change(study, (booked) =>
      booked.exposed === null ? { ...booked, exposed: now, untold: true } : booked,
    );
    await this.contact();
  }

  /**
   * What became of the person, on the disk when this is kept; whether it can still count. It sends nothing.
   *
   * Of several outcomes the last one counts; rewards of a study with a cap add up.
   */
  async record(study: string, value: number, metric = ""): Promise<boolean> {
    await this.#checkConsent();
    const now = this.#clock();
    const booked = await this.#find(study);
    if (booked.ended || booked.exposed === null) return false;
    const place = this.#read(booked);
    if (now > place.end) return false;
    const hold = (found: BookedPlace): BookedPlace => holdOutcome(place, found, metric, value, this.#bits);
    hold(booked); // what is no outcome is refused
    return this.#book.change(study, hold);
  }

  /** Send what is due. To be called whenever the application runs, and never because of an outcome. */
  async contact(): Promise<void> {
    await this.#sayFarewell();
    if (!(await this.#book.consent())) return;
    for (const booked of await this.#book.places()) {
      if (booked.ended || booked.exposed === null) continue;
      const place = this.#read(booked);
      if (!(await this.#agreed.trusts(place))) continue; // an application may have other operators by now
      if (!this.#calls.signs && (booked.untold || !isSealed(place))) continue; // or no device key
      if (booked.untold && !(await this.#tellExposure(place))) continue;
      await this.#report(place);
    }
  }

  /** Erase what there is of a study, here at once, and at the service when it can be reached. */
  async leave(study: string): Promise<void> {
    if (!(await this.#book.leave(study))) throw refuseStudy(study);
    await this.#sayFarewell();
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
    if (!place.grace && !(this.#standing && isSealed(place))) {
      throw refuseValue("grace of a place", place.grace, "above 0, as this device reports after the window");
    }
    if (!isSealed(place)) this.#calls.checkKey();
    const epsilon = await this.#agreed.check(place);
    const booked: BookedPlace = {
      study: place.study,
      protocol: writeHex(place.protocol),
      given: { ...pickFields(given as object), ticket: place.ticket },
      epsilon: `${epsilon}`,
      joined: now,
      exposed: place.exposed === null ? (seen ? now : null) : Math.min(place.exposed, now),
      untold: false,
      usual: roundDefault(place, this.#bits),
      outcomes: {},
      ended: place.again ? PLACE_ELSEWHERE : "",
    };
    await this.#book.takePlace(booked, (spent) => this.#agreed.checkCost(epsilon, spent));
  }

  /** The place of somebody who did not leave. */
  #read(booked: BookedPlace): OwnPlace {
    return readPlace({ ...booked.given, exposed: booked.exposed });
  }

  /** Tell the service that the person saw the arm; whether it knows. */
  async #tellExposure(place: OwnPlace): Promise<boolean> {
    const reply = await this.#calls.post(place.study, "expose", JSON.stringify({ ticket: place.ticket }), true);
    const word = readWord(reply);
    const told = reply.status === 200 && word === "exposed";
    const ended = ENDS.has(word) ? word : "";
    if (told || ended) await this.#book.change(place.study, (booked) => ({ ...booked, untold: false, ended }));
    return told;
  }

  /** Send what is due of a place. */
  async #report(place: OwnPlace): Promise<void> {
    for (const report of await this.#takeReports(place)) {
      const reply = isSealed(place)
        ? await this.#calls.post(place.study, "upload", report.body, false)
        : await this.#calls.post(place.study, "report", report.body, true);
      const answer = readAnswer(reply);
      if (answer) await this.#book.settle(report, answer, ENDS.has(answer));
      if (ENDS.has(answer)) return;
    }
  }

  /** The reports that a contact sends, made now unless they were made before: what another page made stays. */
  async #takeReports(place: OwnPlace): Promise<MadeReport[]> {
    for (;;) {
      const booked = await this.#book.find(place.study);
      if (!booked || booked.ended) return [];
      const before = await this.#book.reports(place.study);
      const now = this.#clock();
      const last = before.at(-1)?.turn ?? -1;
      const turn = chooseReports(place, before, now, this.#standing);
      if (turn === null) return [];
      if (turn === last) return before.filter((each) => each.turn === turn && each.body);
      const made = await makeReports(place, booked, turn, now, this.#bits);
      if (await this.#book.keepReports(place.study, last, made)) return made;
    }
  }

  /** Ask the service to erase what it has of studies that the person left, until it has. */
  async #sayFarewell(): Promise<void> {
    for (const { study, ticket } of await this.#book.farewells()) {
      const reply = await this.#calls.post(study, "leave", JSON.stringify({ ticket }), false);
      const word = readWord(reply);
      if (word && (reply.status === 200 || word === "unknown_ticket")) await this.#book.settleFarewell(study);
    }
  }

  async #checkConsent(): Promise<void> {
    if (!(await this.#book.consent())) throw refuseWithoutConsent();
  }

  async #find(study: string): Promise<BookedPlace> {
    const booked = await this.#book.find(study);
    if (!booked) throw refuseStudy(study);
    return booked;
  }
}

function refuseStudy(study: string): MaskedBanditError {
  return new MaskedBanditError("unknown_study", `this device is in no study ${JSON.stringify(study)}`);
}

const pickArm = ({ arm, payload }: OwnPlace): Pick<Assigned, "arm" | "payload"> => ({ arm, payload });

function pickFields(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => PLACE_FIELDS.includes(name)));
}
