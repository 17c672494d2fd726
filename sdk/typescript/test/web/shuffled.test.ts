/** Studies with a shuffler: one report for everybody, made once, which the service does not get. */
import "fake-indexeddb/auto";
import { beforeEach, describe, expect, test } from "vitest";
import { Calls } from "../../src/web/calls.js";
import { Agreed } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, GRACE, HOUR, KEY, PINNED, SHUFFLER, STUDY, TICKET, TOKEN, URL, WINDOW,
  localPlace, makeDevice, mixedPlace, nameBook, refusalOf, sharedPlace,
} from "./fake_service.js";

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

const asked = () => service.seen.map(({ head }) => head.split(" ")[0]!.replace(`/v1/studies/${STUDY}`, ""));
const bundles = () => service.bodies.filter((body) => body.includes('"sealed"'));

for (const place of [mixedPlace, sharedPlace]) {
  const { offer } = place();
  const [channel] = /channel=\w+/.exec(offer)!;

  test(`one report at the deadline, to the shuffler alone, of ${channel}`, async () => {
    const device = await makeDevice(service, { reports: "standing" });
    await device.join(place());
    await device.record(STUDY, 1);
    for (const hour of [1, 5, 7, 8, 20]) {
      service.time = EXPOSED + hour * HOUR;
      await device.contact();
    }
    expect(asked()).toEqual([`${URL}/pass`, `${SHUFFLER}/bundle`]);
    expect(service.seen[1]!.time).toBe(EXPOSED + 7 * HOUR);
    const [shown] = await device.show();
    expect(shown!.sent).toMatchObject([{ turn: 0, says: Number(/steps=(\d+)/.exec(offer)![1]), answer: "stored" }]);
    expect(shown!.operators.map(({ address }) => address)).toEqual(["", SHUFFLER]);
  });
}

test("the service gets the device key, and the shuffler does not", async () => {
  const device = await makeDevice(service);
  await device.join(mixedPlace());
  service.time = EXPOSED + WINDOW;
  await device.contact();
  await device.leave(STUDY);
  const shown = service.seen.map(({ head }) => [head.split("/")[2], head.includes(KEY), head.includes("Authoriz")]);
  const [leader, shuffler] = [URL, SHUFFLER].map((address) => address.replace("https://", ""));
  expect(shown).toEqual([
    [leader, true, true], [shuffler, false, false], [leader, true, true], [shuffler, false, false],
  ]);
  for (const body of service.bodies) expect(body.includes(TICKET)).toBe(!body.includes('"who"'));
});

test("the pass is asked for once the arm was seen, until the service has given it", async () => {
  const device = await makeDevice(service);
  service.place = mixedPlace({ exposed: null });
  await device.assign(STUDY, "ann", TOKEN);
  await device.contact();
  expect(service.verbs).toEqual(["assign"]);
  service.faults = { 1: "unanswered", 3: "lost", 4: 503 };
  await device.expose(STUDY);
  for (let i = 0; i < 4; i++) await device.contact();
  expect(service.verbs).toEqual(["assign", "expose", "expose", "pass", "pass", "pass"]);
});

test("without a pass nothing is reported", async () => {
  const usual = globalThis.fetch;
  for (const [status, said] of [
    [200, { status: "given" }], [200, { status: "given", shown: "none" }], [200, {}], [500, { code: "failed" }],
    [409, { status: "given", shown: "5b".repeat(64) }],
  ] as const) {
    service = new FakeService();
    globalThis.fetch = async () => Response.json(said, { status });
    const device = await makeDevice(service);
    await device.join(mixedPlace());
    service.time = EXPOSED + WINDOW;
    await device.contact();
    expect(await device.show()).toMatchObject([{ ended: "", sent: [] }]);
  }
  globalThis.fetch = usual;
});

test("a place whose pass is refused for good is over", async () => {
  for (const code of ["late", "unknown_ticket"]) {
    service = new FakeService();
    const device = await makeDevice(service);
    globalThis.fetch = async () => Response.json({ code }, { status: 410 });
    await device.join(mixedPlace());
    expect(await device.show()).toMatchObject([{ ended: code, sent: [] }]);
  }
});

describe("retries", () => {
  test("have the same bytes, also on the next page", async () => {
    const name = nameBook();
    service.faults = { 1: "lost", 2: "unanswered", 3: 503, 4: 429 };
    for (let page = 0; page < 6; page++) {
      const device = await makeDevice(service, { name });
      await device.join(mixedPlace());
      await device.record(STUDY, page % 2);
      service.time = EXPOSED + WINDOW + page;
      await device.contact();
      await device.close();
    }
    expect(service.verbs).toEqual(["pass", "bundle", "bundle", "bundle", "bundle", "bundle"]);
    expect(new Set(bundles()).size).toBe(1);
  });

  test("two pages at once make one bundle", async () => {
    const name = nameBook();
    const pages = await Promise.all([0, 1, 2].map(() => makeDevice(service, { name })));
    await Promise.all(pages.map((page) => page.join(mixedPlace())));
    service.time = EXPOSED + WINDOW;
    await Promise.all(pages.map((page) => page.contact()));
    expect(new Set(bundles()).size).toBe(1);
  });

  test("end when the shuffler says that it is too late", async () => {
    const device = await makeDevice(service);
    await device.join(mixedPlace());
    service.time = EXPOSED + WINDOW;
    globalThis.fetch = async () => Response.json({ code: "late" }, { status: 410 });
    await device.contact();
    expect(await device.show()).toMatchObject([{ ended: "late", sent: [{ answer: "late" }] }]);
  });
});

describe("whoever leaves", () => {
  test("is erased at both, each until it has answered", async () => {
    const device = await makeDevice(service);
    await device.join(mixedPlace());
    service.time = EXPOSED + WINDOW;
    await device.contact();
    service.faults = { 2: "lost", 3: "lost", 4: 503 };
    await device.leave(STUDY);
    await device.contact();
    await device.contact();
    await device.contact();
    expect(service.verbs.slice(2)).toEqual(["leave", "withdraw", "leave", "withdraw", "leave"]);
    expect(service.left).toEqual([TICKET]);
    const { sealed: _, ...shown } = JSON.parse(bundles()[0]!);
    expect(service.withdrawn).toEqual([shown]);
    expect(await device.show()).toMatchObject([{ ended: "left", operators: [], sent: [] }]);
  });

  test("shows the pass that its bundle had, whatever the service says to another page", async () => {
    const name = nameBook();
    const [first, second] = [await makeDevice(service, { name }), await makeDevice(service, { name })];
    service.faults = { 0: "lost" };
    await first.join(mixedPlace());
    service.time = EXPOSED + WINDOW;
    const usual = globalThis.fetch;
    let answer = (): void => {};
    const asked = new Promise<void>((keep) => {
      globalThis.fetch = () => {
        keep();
        const other = Response.json({ status: "given", shown: "5c".repeat(64) });
        return new Promise((give) => (answer = () => give(other)));
      };
    });
    const waits = second.contact();
    await asked;
    globalThis.fetch = usual;
    await first.contact();
    answer();
    await waits;
    await first.leave(STUDY);
    expect(service.verbs).toEqual(["pass", "pass", "bundle", "leave", "withdraw"]);
    expect(service.withdrawn[0]!["shown"]).toBe(JSON.parse(bundles()[0]!).shown);
  });

  test("is withdrawn once the shuffler has nothing of that pass, in its own words", async () => {
    for (const code of ["unknown_study", "forged", "disagreement"]) {
      service = new FakeService();
      const device = await makeDevice(service);
      await device.join(mixedPlace());
      const usual = globalThis.fetch;
      globalThis.fetch = async (url, how) =>
        `${url}`.startsWith(SHUFFLER) ? Response.json({ code }, { status: 409 }) : usual(url, how);
      await device.leave(STUDY);
      globalThis.fetch = usual;
      await device.contact();
      expect(service.verbs).toEqual(["pass", "leave"]);
    }
  });

  test("and has no pass yet is unknown to the shuffler", async () => {
    const device = await makeDevice(service);
    service.place = mixedPlace({ exposed: null });
    await device.assign(STUDY, "ann", TOKEN);
    await device.leave(STUDY);
    expect(service.verbs).toEqual(["assign", "leave"]);
  });
});

test("what is larger than browsers send on after a page was closed is sent without that", async () => {
  const calls = new Calls(SHUFFLER);
  for (const size of [59_000, 60_000]) await calls.post(STUDY, "bundle", `{"sealed":"${"A".repeat(size)}"}`);
  expect(service.seen.map(({ head }) => JSON.parse(head.replace(/^\S+ /, "")).keepalive)).toEqual([true, false]);
});

test("it needs time after the window, and a delta to which the person agreed", async () => {
  const device = await makeDevice(service);
  expect(await refusalOf(device.join(mixedPlace({ grace: 0 })))).toMatch(/^invalid_value: grace of a place is 0/);
  const careful = await makeDevice(service, { agreed: new Agreed(1, { operators: PINNED }) });
  expect(await refusalOf(careful.join(mixedPlace()))).toMatch(/^invalid_value: delta of an offer/);
  await careful.join(localPlace());
  service.time = EXPOSED + WINDOW + GRACE;
  await careful.contact();
  expect(service.verbs).toEqual(["report"]);
});
