/** Whoever leaves: nothing more is sent, and the service is told until it has heard it. */
import "fake-indexeddb/auto";
import { beforeEach, describe, expect, test } from "vitest";
import {
  EXPOSED, FakeService, STUDY, TICKET, TOKEN, WINDOW, localPlace, makeDevice, sealedPlace,
} from "./fake_service.js";

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

/** Has the next request wait for its answer until somebody says so. */
function holdAnswer(): { asked: Promise<void>; answer: () => void } {
  let [ask, answer] = [() => {}, () => {}];
  const [asked, answered] = [new Promise<void>((go) => (ask = go)), new Promise<void>((go) => (answer = go))];
  const usual = globalThis.fetch;
  globalThis.fetch = async (...given) => {
    globalThis.fetch = usual;
    const reply = await usual(...given);
    ask();
    await answered;
    return reply;
  };
  return { asked, answer };
}

describe("whoever leaves while the service is asked", () => {
  const others = { ticket: "k4", terms: { protocol: "0".repeat(64) } };

  test("sends nothing more of that study", async () => {
    const device = await makeDevice(service);
    const offer = `${localPlace().offer}\n${localPlace().offer} metric=gone`;
    await device.join(localPlace({ offer, further: [{ name: "gone", least: 0, most: 1, default: 0 }] }));
    service.time = EXPOSED + WINDOW;
    const { asked, answer } = holdAnswer();
    const contact = device.contact();
    await asked;
    await device.leave(STUDY);
    answer();
    await contact;
    expect(service.verbs).toEqual(["report", "leave"]);
  });

  test("sends nothing more of any study, if consent is taken back", async () => {
    const device = await makeDevice(service);
    for (const more of [{}, { ...others, study: "other" }]) {
      service.place = localPlace({ exposed: null, ...more });
      await device.assign(service.place.study, "ann", TOKEN);
    }
    service.faults = { 2: "lost", 3: "lost", 4: "lost" };
    await device.expose(STUDY);
    await device.expose("other");
    const before = service.verbs.length;
    const { asked, answer } = holdAnswer();
    const contact = device.contact();
    await asked;
    await device.consent(false);
    answer();
    await contact;
    expect(service.verbs.slice(before)).toEqual(["expose", "leave", "leave"]);
  });
});

test("only the service's own words say that it has erased, or takes nothing more", async () => {
  const device = await makeDevice(service);
  service.place = localPlace({ exposed: null });
  await device.assign(STUDY, "ann", TOKEN);
  const usual = globalThis.fetch;
  globalThis.fetch = async () => Response.json({ status: "late" });
  expect(await device.expose(STUDY)).toBe(true);
  globalThis.fetch = async () => Response.json({ status: "ok" });
  await device.leave(STUDY);
  globalThis.fetch = usual;
  await device.contact();
  expect(service.left).toEqual([TICKET]);
});

test("leaving erases here and there", async () => {
  const device = await makeDevice(service);
  await device.join(sealedPlace());
  await device.record(STUDY, 1);
  await device.leave(STUDY);
  await device.leave(STUDY);
  await device.contact();
  expect(service.left).toEqual([TICKET]);
  const nothing = { arm: "", steps: 0, operators: [], exposed: null, sent: [] };
  expect(await device.show()).toEqual([
    { study: STUDY, epsilon: "1", joined: EXPOSED, ended: "left", ...nothing },
  ]);
});
