/** A device asks the service for its person's arm. */
import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import { Agreed, Device } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, HOUR, KEY, STUDY, TOKEN, URL, WINDOW, localPlace, makeDevice, nameBook, refusalOf, sealedPlace,
} from "./fake_service.js";

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

test("takes the place, and says nothing else before the arm is seen", async () => {
  const device = await makeDevice(service);
  service.place = sealedPlace({ exposed: null });
  const given = await device.assign(STUDY, "ann", TOKEN);
  expect(given).toEqual({ arm: "bold", payload: { colour: "red" }, why: "" });
  await device.contact();
  expect(await device.record(STUDY, 1)).toBe(false);
  expect(await device.assign(STUDY, "ann", TOKEN)).toEqual(given);
  expect(service.verbs).toEqual(["assign"]);
  service.time += HOUR;
  expect(await device.expose(STUDY)).toBe(true);
  expect(await device.expose(STUDY)).toBe(true);
  expect(service.verbs).toEqual(["assign", "expose", "upload", "upload"]);
  expect((await device.show())[0]!.exposed).toBe(EXPOSED + HOUR);
  const [asked] = service.seen;
  expect(asked!.fields).toEqual({ unit: "ann", token: TOKEN });
  expect(asked!.head).toContain(`"Authorization":"Bearer ${KEY}"`);
});

test("nothing is reported before the service knows that the arm was seen", async () => {
  const device = await makeDevice(service);
  service.place = sealedPlace({ exposed: null });
  await device.assign(STUDY, "ann", TOKEN);
  service.faults = { 1: "lost", 2: "unanswered" };
  await device.expose(STUDY);
  await device.contact();
  await device.contact();
  expect(service.verbs).toEqual(["assign", "expose", "expose", "expose", "upload"]);
});

test("a store that was cleared shows the arm, and sends nothing of it for ever", async () => {
  const name = nameBook();
  let device = await makeDevice(service, { name });
  service.place = localPlace({ exposed: null });
  await device.assign(STUDY, "ann", TOKEN);
  const request = indexedDB.deleteDatabase(name);
  await new Promise((kept) => (request.onsuccess = kept)); // while the page is open
  expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^no_consent/);
  await device.consent(true);
  service.place = localPlace({ exposed: EXPOSED, again: true });
  expect(await device.assign(STUDY, "ann", TOKEN)).toMatchObject({ arm: "bold", why: "elsewhere" });
  expect(await device.assign(STUDY, "ann", TOKEN)).toMatchObject({ arm: "bold", why: "elsewhere" });
  await device.close();
  device = await makeDevice(service, { name });
  expect(await device.expose(STUDY)).toBe(false);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(await device.record(STUDY, 1)).toBe(false);
  expect(service.verbs).toEqual(["assign", "assign"]);
  expect(await device.show()).toMatchObject([{ ended: "elsewhere", sent: [], epsilon: "1/2" }]);
});

test("refusals of the service have its code", async () => {
  const device = await makeDevice(service);
  for (const code of ["token_expired", "token_forged", "token_unknown_key", "wrong_origin"]) {
    service.refusal = code;
    expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(new RegExp(`^${code}: `));
  }
  service.faults = { 4: "lost" };
  expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^unreachable/);
  expect(await refusalOf(device.assign("../x", "ann", TOKEN))).toMatch(/^invalid_value: study/);
  expect(await device.show()).toEqual([]);
});

test("without a place the arm is shown, and central trust is refused by name", async () => {
  const device = await makeDevice(service);
  expect(await device.assign(STUDY, "ann", TOKEN)).toMatchObject({ arm: "bold", why: "no_place" });
  const answer = { study: STUDY, arm: "bold", payload: null, ticket: "k3", device: null };
  globalThis.fetch = async () => Response.json(answer);
  expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^invalid_value: trust of the study/);
  for (const change of [{ study: "other" }, { arm: "" }, { device: sealedPlace({ ticket: "other" }) }]) {
    globalThis.fetch = async () => Response.json({ ...answer, ...change });
    expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(/^unreachable/);
  }
  expect(await device.show()).toEqual([]);
});

test("a clock that gives no time since 1970 is refused, and nothing is drawn by it", async () => {
  let time = EXPOSED;
  const device = await makeDevice(service, { clock: () => time });
  await device.join(localPlace());
  await device.record(STUDY, 1);
  for (time of [NaN, -1, Infinity, 2 ** 53 + 2]) {
    for (const call of [
      () => device.contact(), () => device.expose(STUDY),
      () => device.record(STUDY, 1), () => device.join(localPlace()),
    ]) {
      expect(await refusalOf(call())).toMatch(/^wrong_clock: the clock of this device gives no time since 1970/);
    }
  }
  expect(service.seen).toEqual([]);
  time = EXPOSED + WINDOW;
  await device.contact();
  await device.contact();
  expect(service.verbs).toEqual(["report"]);
});

test("a study may have a name that every object has", async () => {
  const device = await makeDevice(service, { key: { [STUDY]: KEY } });
  expect(await refusalOf(device.assign("constructor", "ann", TOKEN))).toMatch(/^invalid_value: key is "missing"/);
  const place = localPlace({ study: "constructor" });
  expect(await refusalOf(device.join(place))).toMatch(/^invalid_value: key is "missing"/);
  expect(service.seen).toEqual([]);
});

test("keys of backends are refused, and an address with a password", () => {
  for (const key of ["mb_client_1_2", "mb_owner_1_2", "", "mb_device_", { newsletter: "mb_client_1_2" }]) {
    expect(() => new Device("x", URL, new Agreed(1), { key })).toThrow(/key is "not shown"/);
  }
  for (const url of ["", "ftp://x", "https://u:p@x", "https://x/?a", "https://x y"]) {
    expect(() => new Device("x", url, new Agreed(1))).toThrow(/url is "not shown"/);
  }
  expect(() => new Device("x", URL, new Agreed(1), { reports: "sometimes" as "standing" })).toThrow(/reports/);
});
