/** Local trust: the noise is drawn in the browser, once for ever. */
import "fake-indexeddb/auto";
import { beforeEach, expect, test, vi } from "vitest";
import { Agreed, Device } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, HOUR, KEY, STUDY, TOKEN, URL, WINDOW, localPlace, makeDevice, nameBook, offerLaplace, refusalOf,
} from "./fake_service.js";

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

const guarded = () =>
  localPlace({
    offer: [localPlace().offer, `${localPlace().offer} metric=gone`].join("\n"),
    further: [{ name: "gone", least: 0, most: 1, default: 0 }],
  });

test("is drawn once, and sent as it is until there is an answer", async () => {
  for (const fault of ["lost", "unanswered", 429, 500] as const) {
    service = new FakeService();
    const device = await makeDevice(service);
    await device.join(guarded());
    await device.record(STUDY, 1);
    service.time = EXPOSED + WINDOW;
    service.faults = { 0: fault, 2: fault };
    for (let i = 0; i < 5; i++) {
      await device.record(STUDY, i % 2);
      await device.contact();
      service.time += HOUR;
    }
    expect(service.seen.map(({ fields }) => fields.metric)).toEqual(["", "gone", "", ""]);
    expect(new Set(service.bodies).size).toBe(2);
    expect(service.kept).toHaveLength(2);
  }
});

test("every outcome makes a body of one size, with a bit that is flipped as often as was agreed", async () => {
  let ones = 0;
  const sizes = new Set();
  for (let i = 0; i < 400; i++) {
    const device = await makeDevice(service);
    service.time = EXPOSED;
    await device.join(localPlace());
    await device.record(STUDY, 1);
    service.time = EXPOSED + WINDOW;
    await device.contact();
    sizes.add(service.bodies.at(-1)!.length);
    ones += JSON.parse(service.bodies.at(-1)!).value;
    await device.close();
  }
  expect(sizes.size).toBe(1);
  const mean = 400 / (1 + Math.exp(-0.5));
  expect(Math.abs(ones - mean)).toBeLessThan(6.2 * Math.sqrt(mean * (1 - mean / 400))); // fails once in 10^9
});

test("rewards of a study with a cap add up", async () => {
  const offer = offerLaplace(200, "cap:2,");
  const device = await makeDevice(service, { agreed: new Agreed(200) });
  await device.join(localPlace({ cap: 2, offer }));
  for (const reward of [0.5, 0.25]) await device.record(STUDY, reward);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(Math.abs(JSON.parse(service.bodies[0]!).value - 75)).toBeLessThan(30); // fails once in 10^13
});

test("each further outcome is reported by its name, with a cap of its own", async () => {
  const device = await makeDevice(service, { agreed: new Agreed(600) });
  const offer = [offerLaplace(200), `${offerLaplace(200)} metric=gone`, `${offerLaplace(200, "cap:2,")} metric=spent`];
  const spent = { name: "spent", least: 0, most: 100, default: 0, cap: 2 };
  await device.join(
    localPlace({ offer: offer.join("\n"), further: [{ name: "gone", least: 0, most: 1, default: 1 }, spent] }),
  );
  for (const value of [20, 80]) await device.record(STUDY, value, "spent");
  expect(await refusalOf(device.record(STUDY, 1, "lost"))).toMatch(/metric is "lost": it must be gone or spent or/);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  const sent = service.bodies.map((body) => JSON.parse(body!));
  expect(sent.map(({ metric }) => metric)).toEqual(["", "gone", "spent"]);
  [0, 200, 100].forEach((value, at) => {
    expect(Math.abs(sent[at].value - value)).toBeLessThan(30); // fails once in 10^13
  });
});

test("a guardrail may have a name that every object has", async () => {
  const device = await makeDevice(service, { agreed: new Agreed(400) });
  const offer = `${offerLaplace(200)}\n${offerLaplace(200)} metric=constructor`;
  await device.join(localPlace({ offer, further: [{ name: "constructor", least: 0, most: 1, default: 0 }] }));
  expect(await device.record(STUDY, 1, "constructor")).toBe(true);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(Math.abs(JSON.parse(service.bodies[1]!).value - 200)).toBeLessThan(30); // fails once in 10^13
});

test("the noise of each report is from bytes that are drawn for it alone", async () => {
  const device = await makeDevice(service);
  await device.join(localPlace());
  await device.join(localPlace({ study: "other", ticket: "other", terms: { protocol: "0".repeat(64) } }));
  const draw = vi.spyOn(crypto, "getRandomValues");
  service.time = EXPOSED + WINDOW;
  await device.contact();
  const pages = draw.mock.calls.filter(([bytes]) => bytes!.byteLength === 4096);
  draw.mockRestore();
  expect(pages).toHaveLength(2);
});

test("needs the device key of the study", async () => {
  const device = new Device(nameBook(), URL, new Agreed(1), { key: { other: KEY } });
  await device.consent(true);
  expect(await refusalOf(device.join(localPlace()))).toMatch(/^invalid_value: key/);
  expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^invalid_value: key/);
  expect(await device.show()).toEqual([]);
});
