/** A page that stays, in the round of its cohort: the messages of a device in Python, kept before they are sent. */
import "fake-indexeddb/auto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeBase64 } from "../../src/core/bytes.js";
import { Agreed } from "../../src/web/index.js";
import { fromHex } from "../vectors.js";
import {
  EXPOSED, FakeService, GRACE, HOUR, KEY, PINNED, ROUND, STUDY, TICKET, TOKEN, WINDOW,
  fixRandom, localPlace, makeDevice, nameBook, refusalOf, roundPlace,
} from "./fake_service.js";

const SENT: string[] = ROUND.steps.map(({ sent }: any) => writeBase64(fromHex(sent)));
const AFTER = EXPOSED + WINDOW + 1;

let service: FakeService;
let release = (): void => {};
beforeEach(() => {
  service = new FakeService();
  release = fixRandom();
});
afterEach(() => release());

/** All that is in the database of this name. */
async function dump(name: string): Promise<string> {
  const opened = indexedDB.open(name);
  await new Promise((keep) => (opened.onsuccess = keep));
  const asked = opened.result.transaction("places").objectStore("places").getAll();
  await new Promise((keep) => (asked.onsuccess = keep));
  opened.result.close();
  return JSON.stringify(asked.result);
}

test("after the window it answers what is due, until the round is over", async () => {
  const device = await makeDevice(service);
  await device.join(roundPlace());
  for (const time of [EXPOSED + HOUR, EXPOSED + WINDOW, AFTER, AFTER + GRACE + HOUR]) {
    service.time = time;
    await device.contact();
  }
  expect(service.verbs).toEqual(["round", "round", "round", "round", "round"]);
  expect(service.answers).toEqual(SENT);
  expect(JSON.parse(service.bodies[0]!)).toEqual({ ticket: TICKET, answers: [] });
  const [shown] = await device.show();
  expect(shown).toMatchObject({ ended: "over", epsilon: "1/2", operators: [] });
  expect(shown!.sent).toMatchObject([{ turn: 1, metric: "", made: AFTER, size: 42, answer: "masked" }]);
});

test("an arm that is asked for is told to be seen, and the outcome is in the masked value", async () => {
  const masked = [];
  for (const value of [0, 1]) {
    service = new FakeService();
    service.place = roundPlace({ exposed: null });
    const device = await makeDevice(service);
    await device.assign(STUDY, "ann", TOKEN);
    await device.expose(STUDY);
    await device.record(STUDY, value);
    service.time = AFTER;
    await device.contact();
    expect(service.verbs).toEqual(["assign", "expose", "round", "round", "round", "round", "round"]);
    masked.push((await device.show())[0]!.sent[0]!.says);
  }
  expect((masked[1]! - masked[0]! + 256) % 256).toBe(1);
});

describe("pages that are closed", () => {
  test("go on with the same bytes, and wait for the others", async () => {
    const name = nameBook();
    service.pauses = true;
    service.faults = { 1: "lost", 2: "unanswered", 5: "unanswered", 7: 503, 8: 429, 9: "unanswered" };
    for (let page = 0; page < 20; page++) {
      const device = await makeDevice(service, { name });
      await device.join(roundPlace());
      await device.record(STUDY, page % 2);
      service.time = AFTER + page;
      await device.contact();
      await device.close();
    }
    const said = service.bodies.flatMap((body) => JSON.parse(body).answers) as { phase: number; message: string }[];
    for (const [phase, sent] of service.answers.entries()) {
      const messages = said.filter((each) => each.phase === phase).map(({ message }) => message);
      expect(new Set(messages)).toEqual(new Set([sent]));
    }
    expect(service.answers).toHaveLength(SENT.length);
    expect(service.answers.filter((_, phase) => phase !== 2)).toEqual(SENT.filter((_, phase) => phase !== 2));
  });

  test("two at once answer as one", async () => {
    const name = nameBook();
    release();
    const pages = await Promise.all([0, 1, 2].map(() => makeDevice(service, { name })));
    await Promise.all(pages.map((page) => page.join(roundPlace())));
    service.time = AFTER;
    service.pauses = true;
    await Promise.all(pages.map((page) => page.contact()));
    const said = service.bodies.flatMap((body) => JSON.parse(body).answers) as { message: string }[];
    expect(said.length).toBeGreaterThan(1);
    expect(new Set(said.map(({ message }) => message)).size).toBe(1);
  });
});

test("its secrets are in the database before anything is sent, and gone when the round is over for it", async () => {
  const name = nameBook();
  const device = await makeDevice(service, { name });
  await device.join(roundPlace());
  service.time = AFTER;
  service.pauses = true;
  const usual = globalThis.fetch;
  const seen: boolean[] = [];
  globalThis.fetch = async (url, how) => {
    const { answers } = JSON.parse(how!.body as string);
    const kept = await dump(name);
    for (const { message } of answers) expect(kept).toContain(message);
    seen.push(kept.includes(ROUND.seed));
    return usual(url, how);
  };
  for (let contact = 0; contact < SENT.length; contact++) await device.contact();
  expect(seen).toEqual([false, true, true, true, true, true, true, false]);
});

test.for([
  [{ over: true }, 200],
  [{ code: "late" }, 409],
  [{ code: "unknown_ticket" }, 404],
] as const)("its secrets are gone when the service says %j before it agreed to a sum", async ([said, status]) => {
  const name = nameBook();
  const device = await makeDevice(service, { name });
  await device.join(roundPlace());
  service.time = AFTER;
  service.pauses = true;
  for (let contact = 0; contact < 3; contact++) await device.contact();
  expect(await dump(name)).toContain(ROUND.seed);
  globalThis.fetch = async () => Response.json(said, { status });
  await device.contact();
  const kept = await dump(name);
  for (const secret of [ROUND.seed, '"value"', ...SENT.slice(0, 3)]) expect(kept).not.toContain(secret);
  const [shown] = await device.show();
  expect(shown!.ended).not.toBe("");
  expect(shown!.sent).toMatchObject([{ turn: 1, metric: "", made: AFTER, size: 42, answer: "masked" }]);
});

describe("it takes no part", () => {
  test("where the application does not say which part of devices may be corrupted", async () => {
    const page = await makeDevice(service, { agreed: new Agreed(1, { operators: PINNED }) });
    expect(await refusalOf(page.join(roundPlace()))).toMatch(/^invalid_value: rounds of a place is "given"/);
    service.place = roundPlace();
    expect(await refusalOf(page.assign(STUDY, "ann", TOKEN))).toMatch(/^invalid_value: rounds of a place is "given"/);
    expect(await page.show()).toEqual([]);
    service.time = AFTER;
    await page.contact();
    expect(service.verbs).toEqual(["assign"]);
    await page.join(localPlace({ exposed: AFTER })); // a place that was refused takes nothing
  });

  test("once the application takes it back, or names more", async () => {
    const name = nameBook();
    await (await makeDevice(service, { name })).join(roundPlace());
    service.time = AFTER;
    for (const terms of [{}, { corrupted: "1/5" }]) {
      await (await makeDevice(service, { name, agreed: new Agreed(1, terms) })).contact();
    }
    expect(service.seen).toEqual([]);
  });

  test("after the person left", async () => {
    const device = await makeDevice(service);
    await device.join(roundPlace());
    service.time = AFTER;
    service.pauses = true;
    await device.contact();
    await device.leave(STUDY);
    await device.contact();
    expect(service.verbs).toEqual(["round", "round", "leave"]);
    expect(await device.show()).toMatchObject([{ ended: "left", sent: [] }]);
  });

  test("and keeps nothing, if she leaves while it waits for the service", async () => {
    const device = await makeDevice(service);
    await device.join(roundPlace());
    service.time = AFTER;
    const usual = globalThis.fetch;
    globalThis.fetch = async (url, how) => {
      const reply = await usual(url, how);
      if (`${url}`.endsWith("round")) await device.leave(STUDY);
      return reply;
    };
    await device.contact();
    expect(service.verbs).toEqual(["round", "leave"]);
    expect(await device.show()).toMatchObject([{ ended: "left", sent: [] }]);
  });

  test("when the service does not know the ticket, or says nothing that can be read", async () => {
    const device = await makeDevice(service);
    await device.join(roundPlace());
    service.time = AFTER;
    const right = { ...ROUND.terms, phase: 0, message: "" };
    for (const due of [undefined, "x", [right], { ...right, phase: -1 }, { ...right, message: "?" }]) {
      let asked = 0;
      globalThis.fetch = async () => {
        asked += 1;
        return Response.json({ due, over: false });
      };
      await device.contact();
      expect([due, asked, (await device.show())[0]!.ended]).toEqual([due, 1, ""]);
    }
    globalThis.fetch = async () => Response.json({ code: "unknown_ticket" }, { status: 404 });
    await device.contact();
    expect(await device.show()).toMatchObject([{ ended: "unknown_ticket", sent: [] }]);
  });
});

test("whoever has no device key takes part all the same: the ticket is enough", async () => {
  const device = await makeDevice(service, { key: {} });
  await device.join(roundPlace());
  service.time = AFTER;
  await device.contact();
  expect(service.answers).toEqual(SENT);
  expect(service.seen.some(({ head }) => head.includes(KEY))).toBe(false);
});
