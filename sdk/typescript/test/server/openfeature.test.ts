/** An application that knows OpenFeature alone: flags are studies, and what is tracked counts. */

import { OpenFeature, type Client as Flags, type EvaluationContext } from "@openfeature/server-sdk";
import { afterEach, expect, test } from "vitest";

import { MaskedBanditProvider, type ProviderOptions } from "../../src/server/openfeature.js";
import { KEY, STUDY, type Fault } from "./fake_service.js";
import { always, eachOpens, only } from "./opened.js";

const ANN = { targetingKey: "ann" };
const BOB = { targetingKey: "bob" };
const opened = eachOpens();
let provider: MaskedBanditProvider;

/** The flags of an application, as if it had been started. */
async function start(options: Partial<ProviderOptions> = {}): Promise<Flags> {
  await OpenFeature.clearProviders();
  const { service, folder } = opened;
  provider = new MaskedBanditProvider({ url: service.url, key: KEY, folder, deadlineMs: 30_000, ...options });
  await OpenFeature.setProviderAndWait(provider);
  return OpenFeature.getClient();
}

afterEach(async () => OpenFeature.clearProviders());

test("a flag is a study, and its variant the arm", async () => {
  const flags = await start();
  const found = await flags.getObjectDetails(STUDY, {}, ANN);
  expect([found.value, found.variant, found.reason]).toEqual([{ subject: "Hello" }, "plain", "SPLIT"]);
  const metadata = { ticket: "ticket0", propensity: "1/2", again: false, source: "service" };
  expect(found.flagMetadata).toEqual(metadata);
  expect((await flags.getObjectDetails(STUDY, {}, ANN)).flagMetadata).toEqual({ ...metadata, again: true });
});

test("the context says what rules are about", async () => {
  const flags = await start();
  const said = { age: 18, land: "AT", beta: true, token: "signed", tags: ["a"], long: "x".repeat(257), "a name": 1 };
  await flags.getObjectValue(STUDY, {}, { ...ANN, ...said });
  const attributes = { age: 18, land: "AT", beta: true };
  expect(JSON.parse(opened.service.sent[0]?.body ?? "")).toEqual({ unit: "ann", token: "signed", attributes });
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`field${i}`, i]));
  expect((await flags.getObjectDetails(STUDY, {}, { ...ANN, ...many })).errorCode).toBe("INVALID_CONTEXT");
});

test("the value is the payload if it has the type, else the default, and then nobody saw an arm", async () => {
  opened.service.arms = [
    ["a", false],
    ["b", 1.5],
    ["c", "HELLO"],
    ["d", [3]],
    ["e", null],
  ];
  const flags = await start();
  const get = {
    boolean: (unit: string) => flags.getBooleanDetails(STUDY, true, { targetingKey: unit }),
    number: (unit: string) => flags.getNumberDetails(STUDY, 7, { targetingKey: unit }),
    string: (unit: string) => flags.getStringDetails(STUDY, "x", { targetingKey: unit }),
    object: (unit: string) => flags.getObjectDetails(STUDY, {}, { targetingKey: unit }),
  };
  for (const unit of ["ann", "bob", "cyd", "dan", "eve"]) await get.string(unit); // in their order
  const values = { ann: ["boolean", false], bob: ["number", 1.5], cyd: ["string", "HELLO"], dan: ["object", [3]] };
  for (const [unit, [right, value]] of Object.entries({ ...values, eve: ["string", "e"] })) {
    for (const kind of ["boolean", "number", "string", "object"] as const) {
      const found = await get[kind](unit);
      expect([unit, found.errorCode]).toEqual([unit, kind === right ? undefined : "TYPE_MISMATCH"]);
      if (kind === right) expect(found.value).toEqual(value);
    }
  }
  expect(await provider.flush()).toBe(true);
  opened.service.exposed.clear();
  await get.string("ann");
  await get.number("bob");
  expect(await provider.flush()).toBe(true);
  expect([...opened.service.exposed]).toEqual(["ticket1"]);
});

test("errors are those of OpenFeature", async () => {
  const flags = await start();
  const find = async (flag = STUDY, context: EvaluationContext = ANN) => {
    const found = await flags.getStringDetails(flag, "default", context);
    expect([found.value, found.reason]).toEqual(["default", "ERROR"]);
    expect(JSON.stringify(found)).not.toContain(KEY);
    return found.errorCode;
  };
  for (const context of [{}, { targetingKey: "" }]) expect(await find(STUDY, context)).toBe("TARGETING_KEY_MISSING");
  expect([await find("unknown-study"), await find("no flag/../here")]).toEqual(Array(2).fill("FLAG_NOT_FOUND"));
  expect(await find(STUDY, { targetingKey: "a".repeat(300) })).toBe("INVALID_CONTEXT");
  opened.service.fault = always("unavailable");
  expect(await find()).toBe("PROVIDER_NOT_READY");
  opened.service.fault = () => undefined;
  for (const [status, code] of [[401, "GENERAL"], [403, "FLAG_NOT_FOUND"], [409, "PROVIDER_NOT_READY"]] as const) {
    opened.service.state["/assign"] = status;
    expect(await find()).toBe(code);
  }
  const found = await flags.getStringDetails(STUDY, "default", ANN);
  expect(found.errorMessage).toMatch(/^the service gives no arm \(not_running/);
});

test("while the service is away the person keeps the arm", async () => {
  await (await start()).getObjectValue(STUDY, {}, ANN);
  const flags = await start(); // started again
  opened.service.fault = always("drop request");
  const found = await flags.getObjectDetails(STUDY, {}, ANN);
  expect([found.value, found.variant, found.reason]).toEqual([{ subject: "Hello" }, "plain", "STALE"]);
  expect(found.flagMetadata).toEqual({ again: false, source: "fallback", why: "unreachable" });
});

/** Whether arms were seen and what was reported, by the ticket. */
async function findReports(): Promise<[string, number][]> {
  expect(await provider.flush()).toBe(true);
  const found = [...opened.service.reports].map(([key, value]): [string, number] => [key.split("\n")[0] ?? "", value]);
  return found.sort();
}

test("what is tracked is reported in all studies of the person, also after a start", async () => {
  const flags = await start();
  for (const study of [STUDY, "banner"]) await flags.getObjectValue(study, {}, ANN);
  await flags.getObjectValue(STUDY, {}, BOB);
  flags.track("opened", ANN, { value: 0.5 });
  flags.track("opened", { targetingKey: "nobody" }, { value: 0.5 });
  flags.track("opened"); // no person
  expect(await findReports()).toEqual([["ticket0", 0.5], ["ticket1", 0.5]]);
  const again = await start();
  again.track("opened", BOB); // without an evaluation, and without a value
  expect(await findReports()).toEqual([["ticket0", 0.5], ["ticket1", 0.5], ["ticket2", 1]]);
});

test("a retry counts once, and a second event twice", async () => {
  const flags = await start();
  await flags.getObjectValue(STUDY, {}, ANN);
  await provider.flush();
  opened.service.fault = only<Fault>("drop response", "duplicate", "drop response", "reorder", "drop response");
  for (let i = 0; i < 3; i++) {
    flags.track("bought", ANN, { value: 1 });
    while (!(await provider.flush(5)));
  }
  expect(opened.service.reports.size).toBe(3);
});

test("an application may name its events", async () => {
  const flags = await start();
  await flags.getObjectValue(STUDY, {}, ANN);
  for (const id of ["order 1", "order 2", "order 1"]) flags.track("bought", ANN, { value: 1, event_id: id });
  flags.track("a very long name".repeat(20), ANN, { value: 1, event_id: 3 });
  expect(await provider.flush()).toBe(true);
  const events = [...opened.service.reports.keys()].map((key) => key.split("\n")[1]);
  expect(events.slice(0, 2)).toEqual(["bought:order 1", "bought:order 2"]);
  expect([events.length, events[2]?.length]).toEqual([3, 64]);
});

test("an event with a wrong value is dropped, and not shown", async () => {
  const flags = await start();
  await flags.getObjectValue(STUDY, {}, ANN);
  for (const value of [NaN, "0.123456" as unknown as number]) flags.track("opened", ANN, { value });
  flags.track("opened", ANN);
  expect(await findReports()).toEqual([["ticket0", 1]]);
  expect(opened.said.join()).toContain("an event is dropped");
  expect(opened.said.join()).not.toContain("0.123456");
});

test("what one study does not take is reported in the others", async () => {
  const flags = await start();
  opened.service.extra = { offer: "noise is born on the device" };
  await flags.getObjectValue("banner", {}, ANN);
  opened.service.extra = {};
  await flags.getObjectValue(STUDY, {}, ANN);
  flags.track("opened", ANN);
  expect(await findReports()).toEqual([["ticket1", 1]]);
  expect(opened.said.join()).toContain("an event is dropped: outcomes of banner stay on people's devices");
});

test("a study may name the event that is its outcome, and that of its guardrail", async () => {
  const flags = await start({ outcomes: { [STUDY]: "opened" }, metrics: { banner: ["unsubscribed"] } });
  for (const study of [STUDY, "banner"]) await flags.getObjectValue(study, {}, ANN);
  flags.track("clicked", ANN);
  expect(await findReports()).toEqual([["ticket1", 1]]);
  flags.track("opened", ANN);
  expect((await findReports()).map(([ticket]) => ticket)).toEqual(["ticket0", "ticket1", "ticket1"]);
  flags.track("unsubscribed", ANN, { value: 0.5 });
  expect(await provider.flush()).toBe(true);
  const last = [...opened.service.reports.entries()].at(-1);
  expect([last?.[0].split(" ")[0], last?.[1]]).toEqual(["ticket1\nunsubscribed", 0.5]);
});

test("an application may say itself that the arm was seen", async () => {
  const flags = await start({ exposeOnEvaluation: false });
  await flags.getObjectValue(STUDY, {}, ANN);
  expect(await provider.flush()).toBe(true);
  expect(opened.service.exposed.size).toBe(0);
  flags.track("exposed", ANN);
  expect(await findReports()).toEqual([]);
  expect([...opened.service.exposed]).toEqual(["ticket0"]);
});
