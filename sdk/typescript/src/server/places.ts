/**
 * The arms that the service gave before: served again while it is away, and found again when an outcome comes.
 *
 * A unit is kept as its hash, so that the files list no names; whoever guesses a name can confirm it. There are up to
 * 4,096 files of lines, by the beginning of the hash, so that finding a person reads few others.
 */

import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TURNED_AWAY } from "../core/attributes.js";
import { Assigned } from "./answers.js";
import { refuseStorage } from "./folder.js";
import { GrowingSet } from "./growing_set.js";

const DAY = 24 * 3600 * 1000;
const FORGET_AFTER = 90 * DAY; // an arm that was not given again is forgotten
const REWRITE_AFTER = DAY; // what is written down again only if it changed, or after this time
// whoever comes without being enrolled, and whomever the protocol turns away: no unit has these hashes
const [EVERYBODY, NOT_ENROLLED] = ["everybody", "turned_away"];
const ON_DEVICES = "devices"; // the file of the studies in which outcomes stay on people's devices

/** Where a unit has a ticket. */
export interface KnownPlace {
  readonly study: string;
  readonly ticket: string;
}

interface Place {
  study: string;
  unit: string; // its hash
  arm: string;
  payload: unknown;
  ticket: string | null;
  propensity: string | null;
  until: number; // milliseconds since 1970
}

export class KnownArms {
  readonly #folder: string;
  readonly #clock: () => number;
  readonly #work = new Map<string, Promise<unknown>>(); // of each file, one thing after another
  readonly #onDevices: GrowingSet;

  private constructor(folder: string, clock: () => number, onDevices: GrowingSet) {
    [this.#folder, this.#clock, this.#onDevices] = [folder, clock, onDevices];
  }

  static async open(folder: string, clock: () => number = Date.now): Promise<KnownArms> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return new KnownArms(folder, clock, await GrowingSet.open(join(folder, ON_DEVICES)));
    } catch (why) {
      throw refuseStorage(folder, why);
    }
  }

  /**
   * Write down what the service gave; without a ticket it is what everybody gets who is not enrolled.
   *
   * That somebody was turned away is not written down, as it may be otherwise the next time: only the default arm.
   */
  async remember(study: string, unit: string, given: Assigned): Promise<void> {
    const nobody = TURNED_AWAY.has(given.why) ? NOT_ENROLLED : EVERYBODY;
    const who = given.ticket === null ? nobody : hashUnit(unit);
    const { arm, payload, ticket, propensity } = given;
    const place: Place = { study, unit: who, arm, payload, ticket, propensity, until: this.#clock() + FORGET_AFTER };
    await this.#change(who, (places) => {
      const before = places.find((each) => each.study === study && each.unit === who);
      if (before && before.until > place.until - REWRITE_AFTER && isSame(before, place)) return null;
      return [...places.filter((each) => each !== before), place];
    });
  }

  /** The arm that the unit had. */
  async find(study: string, unit: string): Promise<Assigned | null> {
    return this.#find(study, hashUnit(unit));
  }

  /**
   * The arm for somebody who is not known: the default, if people of the study are turned away.
   *
   * In other studies it is the one that was given last to somebody without a place: the best in what was released.
   */
  async served(study: string): Promise<Assigned | null> {
    return (await this.#find(study, NOT_ENROLLED)) ?? this.#find(study, EVERYBODY);
  }

  /** All places of a unit, in the order of the studies' names. */
  async places(unit: string): Promise<KnownPlace[]> {
    const who = hashUnit(unit);
    const found = (await this.#read(who)).flatMap((each) =>
      each.unit === who && each.ticket !== null ? [{ study: each.study, ticket: each.ticket }] : [],
    );
    return found.sort((a, b) => (a.study < b.study ? -1 : 1));
  }

  /** Forget who had a ticket. */
  async forget(study: string, ticket: string): Promise<void> {
    for (const name of await this.#names()) {
      await this.#change(name, (places) => {
        const left = places.filter((each) => each.study !== study || each.ticket !== ticket);
        return left.length === places.length ? null : left;
      });
    }
  }

  /** Forget what is too old. */
  async sweep(): Promise<void> {
    for (const name of await this.#names()) await this.#change(name, () => null);
  }

  /** From now on, and after a start, outcomes of a study are none of this process's business. */
  async keepOnDevices(study: string): Promise<void> {
    await this.#onDevices.add(study);
  }

  /** Whether outcomes of a study stay on people's devices. */
  staysOnDevice(study: string): boolean {
    return this.#onDevices.has(study);
  }

  /** Wait until all is written. */
  async close(): Promise<void> {
    await Promise.all(this.#work.values());
  }

  async #names(): Promise<string[]> {
    return (await readdir(this.#folder)).filter((name) => isOfNobody(name) || /^[0-9a-f]{3}$/.test(name));
  }

  async #find(study: string, who: string): Promise<Assigned | null> {
    const place = (await this.#read(who)).find((each) => each.unit === who && each.study === study);
    return place ? new Assigned(place.arm, place.payload, place.ticket, place.propensity, true) : null;
  }

  async #read(who: string): Promise<Place[]> {
    return (await this.#load(nameFile(who))).places;
  }

  /** What holds of a file: of a study and a unit the last line; and how many lines there are. */
  async #load(name: string): Promise<{ places: Place[]; lines: number }> {
    const text = await readFile(join(this.#folder, name), "utf8").catch((why: NodeJS.ErrnoException) => {
      if (why.code === "ENOENT") return "";
      throw refuseStorage(this.#folder, why);
    });
    const found = new Map<string, Place>();
    const lines = text.split("\n");
    const cut = lines.pop(); // of a line that was not written to its end, to which none may be added
    for (const line of lines) {
      const place = parsePlace(line);
      if (place) found.set(`${place.study}\n${place.unit}`, place);
    }
    const now = this.#clock();
    return { places: [...found.values()].filter((each) => each.until > now), lines: lines.length + (cut ? 1 : 0) };
  }

  /** Change a file, if what it holds is to be another; a line is added where that is enough. */
  async #change(who: string, change: (places: Place[]) => Place[] | null): Promise<void> {
    const name = nameFile(who);
    const before = this.#work.get(name) ?? Promise.resolve();
    const done = before.then(async () => {
      const { places, lines } = await this.#load(name);
      const wanted = change(places);
      if (wanted === null && lines === places.length) return;
      const path = join(this.#folder, name);
      const [last] = (wanted ?? []).slice(-1);
      try {
        if (last && lines === places.length && wanted?.length === lines + 1) {
          await appendFile(path, `${JSON.stringify(last)}\n`, { mode: 0o600 });
        } else if ((wanted ?? places).length === 0) {
          await rm(path, { force: true });
        } else {
          const text = (wanted ?? places).map((each) => `${JSON.stringify(each)}\n`).join("");
          await writeFile(`${path}-new`, text, { mode: 0o600 });
          await rename(`${path}-new`, path);
        }
      } catch (why) {
        throw refuseStorage(this.#folder, why);
      }
    });
    const settled = done.catch(() => undefined);
    this.#work.set(name, settled);
    await done.finally(() => {
      if (this.#work.get(name) === settled) this.#work.delete(name);
    });
  }
}

/** As what a unit is kept. */
export function hashUnit(unit: string): string {
  return createHash("sha256").update(unit).digest("hex");
}

function nameFile(who: string): string {
  return isOfNobody(who) ? who : who.slice(0, 3);
}

function isOfNobody(who: string): boolean {
  return who === EVERYBODY || who === NOT_ENROLLED;
}

function isSame(one: Place, other: Place): boolean {
  return JSON.stringify({ ...one, until: 0 }) === JSON.stringify({ ...other, until: 0 });
}

/** The place of a line, or null if the machine ended before it was written. */
function parsePlace(line: string): Place | null {
  try {
    return JSON.parse(line) as Place;
  } catch {
    return null;
  }
}
