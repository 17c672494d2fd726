/** Our provider for OpenFeature on pages. */
import "fake-indexeddb/auto";
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Agreed, Device } from "../../src/web/index.js";
import { MaskedBanditProvider } from "../../src/web/openfeature.js";
import {
  EXPOSED, FakeService, KEY, STUDY, TOKEN, URL, WINDOW, localPlace, makeDevice, nameBook,
} from "./fake_service.js";

const ANN = { targetingKey: "ann", token: TOKEN };
let service: FakeService;
let changed: string[];
beforeEach(() => {
  service = new FakeService();
  service.place = localPlace({ exposed: null });
  changed = [];
});
afterEach(async () => {
  await OpenFeature.clearProviders();
  OpenFeature.clearHandlers();
});

async function begin(device: Device, context: Record<string, any> = ANN, options = {}) {
  const keep = (event: any) => void changed.push(...event.flagsChanged);
  OpenFeature.addHandler(ProviderEvents.ConfigurationChanged, keep);
  await OpenFeature.setContext(context);
  await OpenFeature.setProviderAndWait(new MaskedBanditProvider(device, options));
  return OpenFeature.getClient();
}

const changes = (many: number) => vi.waitFor(() => expect(changed).toHaveLength(many));

test("the first evaluation enrols, once, and says nothing of what was seen", async () => {
  const flags = await begin(await makeDevice(service));
  for (let i = 0; i < 5; i++) {
    const found = flags.getObjectDetails(STUDY, { colour: "none" });
    expect(found).toMatchObject({ value: { colour: "none" }, reason: "DEFAULT" });
  }
  await changes(1);
  for (let i = 0; i < 5; i++) {
    const found = flags.getObjectDetails(STUDY, { colour: "none" });
    expect(found).toMatchObject({ value: { colour: "red" }, variant: "bold", reason: "SPLIT" });
  }
  expect(service.verbs).toEqual(["assign"]);
  expect(service.seen[0]!.fields).toEqual({ unit: "ann", token: TOKEN });
});

test("on the next page the arm is there at once, also while the service is away", async () => {
  const name = nameBook();
  const device = await makeDevice(service, { name });
  await device.assign(STUDY, "ann", TOKEN);
  await device.close();
  service.faults = { 1: "lost" };
  const flags = await begin(await makeDevice(service, { name }));
  expect(flags.getObjectValue(STUDY, {})).toEqual({ colour: "red" });
  expect(service.verbs).toEqual(["assign"]);
});

test("track says that the arm was seen, and records, and only contacts send", async () => {
  const device = await makeDevice(service);
  const flags = await begin(device, ANN, { outcomes: { [STUDY]: "bought" } });
  flags.getObjectValue(STUDY, {});
  await changes(1);
  flags.track("exposed", { flag: "other" });
  flags.track("exposed", { flag: STUDY });
  await vi.waitFor(() => expect(service.verbs).toEqual(["assign", "expose"]));
  await vi.waitFor(async () => expect((await device.show())[0]!.exposed).toBe(EXPOSED));
  const recorded = vi.spyOn(device, "record");
  flags.track("looked", { value: 1 });
  flags.track("bought");
  expect(recorded.mock.calls).toEqual([[STUDY, 1]]);
  await recorded.mock.results[0]!.value;
  expect(service.verbs).toEqual(["assign", "expose"]);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(service.verbs).toEqual(["assign", "expose", "report"]);
});

test("each study may have a token of its own", async () => {
  const flags = await begin(await makeDevice(service), { targetingKey: "ann", token: { [STUDY]: "own" } });
  flags.getObjectValue(STUDY, {});
  await changes(1);
  expect(service.seen[0]!.fields.token).toBe("own");
});

test("what cannot be evaluated is the default, and is not asked for again before the context changes", async () => {
  const flags = await begin(await makeDevice(service));
  service.refusal = "token_expired";
  flags.getObjectValue(STUDY, {});
  await changes(1);
  for (let i = 0; i < 3; i++) {
    expect(flags.getObjectDetails(STUDY, {})).toMatchObject({ value: {}, errorCode: "GENERAL" });
  }
  expect(service.verbs).toEqual(["assign"]);
  service.refusal = "";
  await OpenFeature.setContext({ ...ANN, token: "a new one" });
  flags.getObjectValue(STUDY, {});
  await changes(2);
  expect(flags.getObjectValue(STUDY, {})).toEqual({ colour: "red" });
});

test("errors have OpenFeature's codes", async () => {
  const device = await makeDevice(service);
  const flags = await begin(device, {});
  expect(flags.getStringDetails(STUDY, "none").errorCode).toBe("TARGETING_KEY_MISSING");
  await OpenFeature.setContext(ANN);
  flags.getStringValue(STUDY, "none");
  await changes(1);
  expect(flags.getStringDetails(STUDY, "none")).toMatchObject({ value: "none", errorCode: "TYPE_MISMATCH" });
  expect(flags.getNumberDetails(STUDY, 0).errorCode).toBe("TYPE_MISMATCH");
  expect(flags.getBooleanDetails(STUDY, true).errorCode).toBe("TYPE_MISMATCH");
  await OpenFeature.setContext({ ...ANN, targetingKey: "bob" });
  expect(flags.getObjectDetails(STUDY, {})).toMatchObject({ value: {}, errorCode: "INVALID_CONTEXT" });
});

test("what somebody else does is recorded nowhere", async () => {
  const name = nameBook();
  await (await makeDevice(service, { name })).assign(STUDY, "ann", TOKEN);
  const device = await makeDevice(service, { name });
  const flags = await begin(device);
  const told = [vi.spyOn(device, "record"), vi.spyOn(device, "expose")];
  for (const context of [{ targetingKey: "bob" }, {}]) {
    await OpenFeature.setContext(context);
    flags.track("exposed");
    flags.track("bought");
    expect(told.map((each) => each.mock.calls)).toEqual([[], []]);
  }
  await OpenFeature.setContext(ANN);
  flags.track("bought");
  expect(told[0]!.mock.calls).toEqual([[STUDY, 1]]);
});

test("before consent nothing is asked, and after it all is", async () => {
  const device = new Device(nameBook(), URL, new Agreed(1), { key: KEY, clock: () => service.time });
  const flags = await begin(device);
  flags.getObjectValue(STUDY, {});
  flags.track("exposed");
  await device.contact();
  expect(service.seen).toEqual([]);
  await device.consent(true);
  flags.getObjectValue(STUDY, {});
  await changes(1);
  expect(flags.getObjectValue(STUDY, {})).toEqual({ colour: "red" });
});

test("whoever is turned away is asked about again when the context changes, and not before", async () => {
  const place = service.place;
  service.place = null;
  service.why = "not_eligible";
  const flags = await begin(await makeDevice(service), { ...ANN, age: 17, tags: ["a"] });
  flags.getObjectValue(STUDY, {});
  await changes(1);
  for (let i = 0; i < 3; i++) {
    const found = flags.getStringDetails(STUDY, "none");
    expect(found).toMatchObject({ value: "plain", reason: "STATIC", flagMetadata: { why: "not_eligible" } });
  }
  expect(JSON.parse(service.bodies[0]!).attributes).toEqual({ age: 17 });
  [service.place, service.why] = [place, null];
  await OpenFeature.setContext({ ...ANN, age: 18 });
  flags.getObjectValue(STUDY, {});
  await changes(2);
  expect(flags.getObjectDetails(STUDY, {})).toMatchObject({ variant: "bold", reason: "SPLIT" });
  expect(JSON.parse(service.bodies[1]!).attributes).toEqual({ age: 18 });
  await OpenFeature.setContext({ ...ANN, age: 3 });
  expect(flags.getObjectDetails(STUDY, {})).toMatchObject({ variant: "bold", reason: "SPLIT" });
  expect(service.verbs).toEqual(["assign", "assign"]);
});
