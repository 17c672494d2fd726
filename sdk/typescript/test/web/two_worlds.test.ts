/**
 * Two worlds that differ in one person's outcome look alike to whoever sees the network, the service included.
 *
 * What is compared is everything but the letters of random texts and the noisy number of a report under local trust:
 * times, order, number, addresses, headers, sizes, all plain fields, and which message repeats which.
 */
import "fake-indexeddb/auto";
import { describe, expect, test } from "vitest";
import { writeBase64 } from "../../src/core/bytes.js";
import { Device } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, GRACE, HOUR, ROUND, type MadeDevice, type Message, STUDY, TOKEN, WINDOW,
  fixRandom, localPlace, makeDevice, mixedPlace, nameBook, roundPlace, sealedPlace, sharedPlace,
} from "./fake_service.js";
import { TWINS } from "./telling_devices.js";
import { fromHex } from "../vectors.js";

const ROUND_SENT: string[] = ROUND.steps.map(({ sent }: any) => writeBase64(fromHex(sent)));

type Event = [time: number, value: number | null]; // null: a contact
type World = [time: number, value: number][];

// what becomes of the person: when it is recorded, and what
const WORLDS: Record<string, World> = {
  nothing: [],
  "a bit": [[HOUR, 1]],
  "a fraction": [[HOUR, 0.371]],
  "the default": [[HOUR, 0]],
  early: [[0, 1]],
  late: [[5 * HOUR, 1]],
  "at the last moment": [[WINDOW, 1]],
  "after the window": [[WINDOW + 1, 1]],
  often: Array.from({ length: 13 }, (_, at) => [(at * HOUR) / 2, (at % 3) / 2]),
  "the same again": Array.from({ length: 7 }, (_, at) => [at * HOUR, 1]),
  "then not": [[HOUR, 1], [2 * HOUR, 0]],
};
const CONTACTS: Record<string, number[]> = {
  "never again": [],
  hourly: Array.from({ length: 39 }, (_, at) => (at + 1) * HOUR),
  "at the end": [3 * HOUR, WINDOW, WINDOW, WINDOW + 1, WINDOW + HOUR],
  "after the end": [2, 3, 4].map((hour) => WINDOW + hour * HOUR),
  "too late": [WINDOW + GRACE + 1, WINDOW + GRACE + HOUR],
};
const FAULTS: Record<string, FakeService["faults"]> = {
  none: {},
  away: Object.fromEntries(Array.from({ length: 99 }, (_, at) => [at, "lost"])),
  "at times": { 0: "lost", 2: "unanswered", 3: 503, 4: "lost", 5: 429, 8: "unanswered" },
  unanswered: Object.fromEntries(Array.from({ length: 7 }, (_, at) => [at, "unanswered"])),
};
type Way = { place: (changes?: object) => object; reports: "standing" | "deadline"; asks?: boolean };
const WAYS: Record<string, Way> = {
  standing: { place: sealedPlace, reports: "standing" },
  "at the deadline": { place: sealedPlace, reports: "deadline" },
  "local trust": { place: localPlace, reports: "standing" },
  "that is asked for": { place: localPlace, reports: "standing", asks: true },
  "with a shuffler": { place: mixedPlace, reports: "standing" },
  "in shares for a shuffler": { place: sharedPlace, reports: "deadline", asks: true },
  "in a round": { place: roundPlace, reports: "standing" },
  "in a round with others": { place: roundPlace, reports: "deadline", asks: true },
};

/** All that is seen of a device in a world. */
async function watch(
  way: string,
  world: World,
  contacts: number[],
  faults: FakeService["faults"],
  more: MadeDevice = {},
): Promise<FakeService> {
  const service = new FakeService();
  const { place, reports, asks } = WAYS[way]!;
  const release = place === roundPlace ? fixRandom() : () => undefined;
  service.pauses = asks ?? false;
  const device = await makeDevice(service, { reports, ...more });
  if (asks) {
    service.place = place({ exposed: null });
    await device.assign(STUDY, "ann", TOKEN);
  }
  service.faults = faults;
  await (asks ? device.expose(STUDY) : device.join(place()));
  const events: Event[] = [...contacts.map((time): Event => [time, null]), ...world];
  events.sort(([one], [other]) => one - other); // at the same time a contact comes first
  for (const [time, value] of events) {
    service.time = EXPOSED + time;
    await (value === null ? device.contact() : device.record(STUDY, value));
  }
  await device.close();
  release();
  return service;
}

/** Worlds that look otherwise than the one in which nothing happens. */
async function telling(way: string, contacts: string, faults: string, kind = Device): Promise<string[]> {
  const see = async (world: World): Promise<Message[]> =>
    (await watch(way, world, CONTACTS[contacts]!, FAULTS[faults]!, { kind })).seen;
  const nothing = JSON.stringify(await see([]));
  const found = [];
  for (const [name, world] of Object.entries(WORLDS)) {
    if (JSON.stringify(await see(world)) !== nothing) found.push(name);
  }
  return found;
}

for (const way of Object.keys(WAYS)) {
  test(`worlds look alike, reports ${way}`, async () => {
    for (const contacts of Object.keys(CONTACTS)) {
      for (const faults of Object.keys(FAULTS)) {
        expect([contacts, faults, ...(await telling(way, contacts, faults))]).toEqual([contacts, faults]);
      }
    }
  });
}

/** Numbers below 1 that look random and are always the same. */
function* listNumbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

test("worlds look alike whenever anything happens", async () => {
  const numbers = listNumbers(34);
  const below = (n: number): number => Math.floor(numbers.next().value! * n);
  const marks = [0, WINDOW, WINDOW + 1, WINDOW + GRACE, WINDOW + GRACE + 1];
  const drawTimes = (most: number): number[] =>
    Array.from({ length: below(most) }, () => (below(2) ? marks[below(marks.length)]! : below(2 * WINDOW)));
  for (let number = 0; number < 120; number++) {
    const way = Object.keys(WAYS)[number % 8]!;
    const contacts = drawTimes(12).sort((one, other) => one - other);
    const faults: FakeService["faults"] = {};
    for (let at = 0; at < 20; at++) {
      if (below(10) < 3) faults[at] = (["lost", "unanswered", 429, 503] as const)[below(4)]!;
    }
    const world: World = drawTimes(6).map((time) => [time, [0, 1, below(1000) / 1000][below(3)]!]);
    const [one, two] = [await watch(way, world, contacts, faults), await watch(way, [], contacts, faults)];
    expect(one.seen).toEqual(two.seen);
  }
});

test("something is seen", async () => {
  const standing = await watch("standing", [], CONTACTS["at the end"]!, FAULTS["at times"]!);
  expect(standing.seen.map(({ fields }) => fields.turn)).toEqual([0, 1, 2, 2, 2, 2]);
  expect(new Set(standing.bodies).size).toBe(3);
  for (const way of ["at the deadline", "local trust"]) {
    const service = await watch(way, [], CONTACTS["after the end"]!, FAULTS["unanswered"]!);
    expect(service.bodies).toHaveLength(3);
    expect(new Set(service.bodies).size).toBe(1);
  }
  const asked = await watch("that is asked for", [], CONTACTS["at the end"]!, FAULTS["none"]!);
  expect(asked.verbs).toEqual(["assign", "expose", "report"]);
  const mixed = await watch("with a shuffler", [], CONTACTS["after the end"]!, FAULTS["unanswered"]!);
  expect(mixed.verbs).toEqual(["pass", "pass", "pass", "pass"]); // no answer comes, and so no report goes
  const shared = await watch("in shares for a shuffler", [], CONTACTS["after the end"]!, { 3: "unanswered" });
  expect(shared.verbs).toEqual(["assign", "expose", "pass", "bundle", "bundle"]);
  expect(new Set(shared.bodies.slice(3)).size).toBe(1);
  const round = await watch("in a round", [], CONTACTS["after the end"]!, { 1: "unanswered", 2: "lost" });
  expect(round.verbs).toEqual(Array.from({ length: 7 }, () => "round"));
  expect(round.answers).toEqual(ROUND_SENT.map((sent, phase) => (phase === 2 ? round.answers[2] : sent)));
});

test("the outcome arrives all the same", async () => {
  const expected = { nothing: 0, "a bit": 1, late: 1, "then not": 0, "after the window": 0 };
  for (const way of ["standing", "at the deadline"]) {
    for (const [name, said] of Object.entries(expected)) {
      const service = new FakeService();
      const device = await makeDevice(service, { reports: WAYS[way]!.reports });
      await device.join(sealedPlace());
      for (const [time, value] of WORLDS[name]!) {
        service.time = EXPOSED + time;
        await device.record(STUDY, value);
      }
      service.time = EXPOSED + WINDOW + 2;
      await device.contact();
      expect((await device.show())[0]!.sent.at(-1)!.says).toBe(said);
    }
  }
});

describe("a device is found", () => {
  for (const [name, [way, kind]] of Object.entries(TWINS)) {
    test(name, async () => {
      const faults = /shuffler|round/.test(way) ? "at times" : "unanswered"; // without answers it sends little
      expect(await telling(way, "at the end", faults, kind)).not.toEqual([]);
      expect(await telling(way, "at the end", faults)).toEqual([]);
    });
  }

  test("that draws twice: a second draw is another body", async () => {
    const name = nameBook();
    const service = new FakeService();
    service.faults = { 0: "unanswered" };
    for (let page = 0; page < 2; page++) {
      const device = await makeDevice(service, { name: page ? nameBook() : name }); // it lost the first draw
      service.time = EXPOSED;
      await device.join(localPlace());
      service.time = EXPOSED + WINDOW;
      await device.contact();
    }
    expect(new Set(service.bodies).size).toBe(2);
  });
});
