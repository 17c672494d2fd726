import "fake-indexeddb/auto";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { DeviceBook } from "../../src/web/book.js";
import { Agreed, Device } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, GRACE, HOUR, KEY, PINNED, STUDY, TICKET, TOKEN, URL, WINDOW,
  localPlace, makeDevice, nameBook, refusalOf, sealedPlace,
} from "./fake_service.js";

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

const turns = (): unknown[] => service.seen.map(({ fields }) => fields.turn);

async function says(device: Device): Promise<number[]> {
  const [shown] = await device.show();
  return shown!.sent.map((each) => each.says);
}

describe("consent", () => {
  test("before it nothing is stored or sent", async () => {
    const name = nameBook();
    const device = new Device(name, URL, new Agreed(1, { operators: PINNED }), { key: { [STUDY]: KEY } });
    for (const call of [
      () => device.join(sealedPlace()), () => device.record(STUDY, 1),
      () => device.assign(STUDY, "ann", TOKEN), () => device.expose(STUDY),
    ]) {
      expect(await refusalOf(call())).toMatch(/^no_consent/);
    }
    await device.contact();
    await device.consent(false);
    expect(await device.show()).toEqual([]);
    expect((await indexedDB.databases()).map((each) => each.name)).not.toContain(name);
    expect(service.seen).toEqual([]);
  });

  test("taken back it ends all, and the service is told when it can be reached", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    service.faults = { 1: "lost", 2: 503 };
    await device.consent(false);
    await device.contact();
    expect(service.left).toEqual([]);
    await device.contact();
    await device.contact();
    expect(service.left).toEqual([TICKET]);
    expect(service.verbs).toEqual(["upload", "leave", "leave", "leave"]);
    expect(await refusalOf(device.record(STUDY, 1))).toMatch(/^no_consent/);
    await device.consent(true);
    await device.contact();
    expect((await device.show()).map((each) => each.ended)).toEqual(["left"]);
    expect(await refusalOf(device.join(sealedPlace()))).toMatch(/^already_spent: the person left/);
    expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^already_spent: the person left/);
    expect(service.seen).toHaveLength(4);
  });
});

describe("standing reports", () => {
  test("every contact within the window reports, and the first after it", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    for (const hour of [1, 5, 7, 8, 20]) {
      service.time = EXPOSED + hour * HOUR;
      await device.contact();
    }
    expect(turns()).toEqual([0, 1, 2, 3]);
    expect(new Set((await device.show())[0]!.sent.map((each) => each.answer))).toEqual(new Set(["stored"]));
  });

  test("the default is reported until there is an outcome, and the last one counts", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    expect(await device.record(STUDY, 1)).toBe(true);
    await device.contact();
    await device.record(STUDY, 0);
    await device.contact();
    service.time = EXPOSED + WINDOW + 1;
    expect(await device.record(STUDY, 1)).toBe(false);
    await device.contact();
    expect(await says(device)).toEqual([0, 1, 0, 0]);
  });

  test("an outcome is rounded once for each value", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    for (let i = 0; i < 12; i++) {
      await device.record(STUDY, 0.5);
      await device.contact();
    }
    expect(new Set((await says(device)).slice(1)).size).toBe(1);
  });

  test("other outcomes are refused and not shown", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    for (const value of [-0.25, 1.25, NaN, "1", null, true]) {
      expect(await refusalOf(device.record(STUDY, value as number))).toMatch(/^personal_value: outcome must be/);
    }
    expect(await refusalOf(device.record(STUDY, 1, "other"))).toMatch(/^invalid_value: metric/);
  });

  test("of a study in which she has no place nothing is recorded or sent", async () => {
    const device = await makeDevice(service);
    expect(await device.record(STUDY, 1)).toBe(false);
    expect(await device.expose(STUDY)).toBe(false);
    expect(await refusalOf(device.leave(STUDY))).toMatch(/^unknown_study/);
    expect(service.seen).toEqual([]);
  });

  test("an exposure in the future is now", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace({ exposed: EXPOSED + 5 * HOUR }));
    service.time = EXPOSED + WINDOW + 1;
    expect(await device.record(STUDY, 1)).toBe(false);
  });
});

describe("reports at the deadline", () => {
  for (const [trust, place] of [["two operators", sealedPlace], ["local trust", localPlace]] as const) {
    test(`one for everybody, of ${trust}`, async () => {
      const device = await makeDevice(service, { reports: "deadline" });
      await device.join(place());
      for (const hour of [1, 5, 7, 8, 20]) {
        service.time = EXPOSED + hour * HOUR;
        await device.contact();
      }
      expect(service.seen.map((each) => each.time)).toEqual([EXPOSED + 7 * HOUR]);
    });

    test(`nothing is sent too late, of ${trust}`, async () => {
      const device = await makeDevice(service, { reports: "deadline" });
      await device.join(place());
      service.time = EXPOSED + WINDOW + GRACE + 1;
      await device.contact();
      expect(service.seen).toEqual([]);
    });

    test(`it needs time after the window, of ${trust}`, async () => {
      const device = await makeDevice(service, { reports: "deadline" });
      expect(await refusalOf(device.join(place({ grace: 0 })))).toMatch(/^invalid_value: grace of a place is 0/);
    });
  }

  test("local trust never stands", async () => {
    const device = await makeDevice(service, { reports: "standing" });
    await device.join(localPlace());
    await device.contact();
    expect(service.seen).toEqual([]);
  });
});

describe("retries", () => {
  test("have the same bytes, also on the next page", async () => {
    const name = nameBook();
    service.faults = { 0: "lost", 1: "unanswered" };
    for (let page = 0; page < 4; page++) {
      const device = await makeDevice(service, { name, reports: "deadline" });
      await device.join(sealedPlace());
      if (page === 0) await device.record(STUDY, 1);
      service.time = EXPOSED + WINDOW;
      await device.contact();
      await device.close();
    }
    expect(turns()).toEqual([0, 0, 0]);
    expect(new Set(service.bodies).size).toBe(1);
  });

  test("a page that is closed between sealing and sending leaves what the next one sends", async () => {
    const name = nameBook();
    const closed = await makeDevice(service, { name, reports: "deadline" });
    await closed.join(sealedPlace());
    service.time = EXPOSED + WINDOW;
    const fetched = globalThis.fetch;
    globalThis.fetch = () => new Promise(() => undefined); // nothing more happens on it
    void closed.contact();
    while ((await closed.show())[0]!.sent.length === 0);
    globalThis.fetch = fetched;
    const device = await makeDevice(service, { name, reports: "deadline" });
    await device.contact();
    expect((await device.show())[0]!.sent).toHaveLength(1);
    expect(service.kept).toHaveLength(1);
  });

  /** How many bodies four pages send that are in contact at once. */
  async function contactAtOnce(place: () => object): Promise<number> {
    const name = nameBook();
    const pages = await Promise.all([0, 1, 2, 3].map(() => makeDevice(service, { name, reports: "deadline" })));
    await Promise.all(pages.map((page) => page.join(place())));
    service.time = EXPOSED + WINDOW;
    await Promise.all(pages.map((page) => page.contact()));
    expect((await pages[0]!.show())[0]!.sent.length).toBeLessThanOrEqual(1);
    return new Set(service.bodies).size;
  }

  test("two pages at once make one report of a turn", async () => {
    expect(await contactAtOnce(sealedPlace)).toBe(1);
    service = new FakeService();
    expect(await contactAtOnce(localPlace)).toBe(1);
  });

  test("pages that do not keep what they drew are found", async () => {
    const keep = vi.spyOn(DeviceBook.prototype, "keepReports").mockResolvedValue(true);
    try {
      expect(await contactAtOnce(localPlace)).toBe(4);
    } finally {
      keep.mockRestore();
    }
  });

  test("a turn that was answered is not kept", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace());
    const open = await openBook(device);
    expect(open.map(({ turn, body }) => [turn, body.length])).toEqual([[0, 0]]);
  });

  test("a ticket that nobody knows ends it", async () => {
    const device = await makeDevice(service);
    await device.join(sealedPlace({ ticket: "gone" }));
    await device.contact();
    expect(turns()).toEqual([0]);
    expect((await device.show())[0]!.ended).toBe("unknown_ticket");
  });

  test("nothing is sealed for operators whom the application dropped", async () => {
    const name = nameBook();
    await (await makeDevice(service, { name })).join(sealedPlace());
    const agreed = new Agreed(1, { operators: [PINNED[0], "77".repeat(32)] });
    await (await makeDevice(service, { name, agreed })).contact();
    expect(turns()).toEqual([0]);
  });

  test("a page of the network is no answer", async () => {
    const device = await makeDevice(service);
    globalThis.fetch = async () => new Response("<h1>Welcome</h1>");
    await device.join(sealedPlace());
    expect((await device.show())[0]!.sent[0]!.answer).toBe("");
  });
});

async function openBook(device: Device): Promise<any[]> {
  const names = (await indexedDB.databases()).map((each) => each.name!);
  await device.close();
  const request = indexedDB.open(names.at(-1)!);
  await new Promise((kept) => (request.onsuccess = kept));
  const rows = request.result.transaction("reports").objectStore("reports").getAll();
  await new Promise((kept) => (rows.onsuccess = kept));
  request.result.close();
  return rows.result;
}

test("a disk that is full takes nothing, and says so", async () => {
  const device = await makeDevice(service);
  await device.join(sealedPlace());
  await device.record(STUDY, 1);
  const full = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(() => {
    throw new DOMException("no space", "QuotaExceededError");
  });
  try {
    expect(await refusalOf(device.record(STUDY, 0))).toMatch(/^storage_failed: .*QuotaExceededError.*was taken/);
  } finally {
    full.mockRestore();
  }
  await device.contact();
  expect((await says(device)).at(-1)).toBe(1);
});

test("nothing of the page goes with a request", async () => {
  const device = await makeDevice(service);
  await device.join(sealedPlace());
  const how = JSON.parse(service.seen[0]!.head.replace(/^\S+ /, ""));
  expect(how).toEqual({
    method: "POST", credentials: "omit",
    headers: { "Content-Type": "application/json", Accept: "application/json", Authorization: `Bearer ${KEY}` },
    referrerPolicy: "no-referrer", cache: "no-store", redirect: "error", keepalive: true,
  });
});
