/** An arm by the deadline, whatever the service does, and never more than two requests for it. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { inspect } from "node:util";

import { describe, expect, it, test } from "vitest";

import { Calls } from "../../src/server/calls.js";
import { NO_REPLY } from "../../src/server/answers.js";
import { GARBAGE, KEY, STUDY, type Fault } from "./fake_service.js";
import { always, eachOpens, only, type Opened } from "./opened.js";

const AWAY: Fault[] = ["drop request", "drop response", "unavailable", "too many", "hang", "drip", "reorder"];
const opened = eachOpens();

test("a person gets an arm, and the same one again", async () => {
  const client = await opened.open();
  const ann = await client.assign("ann");
  expect(ann).toMatchObject({ arm: "plain", payload: { subject: "Hello" }, ticket: "ticket0", propensity: "1/2" });
  expect(ann).toMatchObject({ again: false, source: "service", why: "", device: null });
  expect(await client.assign("ann")).toMatchObject({ arm: "plain", ticket: "ticket0", again: true });
  const [first] = opened.service.sent;
  expect([first?.path, first?.body]).toEqual([`/v1/studies/${STUDY}/assign`, '{"unit":"ann"}']);
  expect(first?.headers.authorization).toBe(`Bearer ${KEY}`);
});

test("a token is sent along", async () => {
  await (await opened.open()).assign("ann", "signed");
  expect(opened.service.sent[0]?.body).toBe('{"unit":"ann","token":"signed"}');
});

test("attributes are sent along, and none that can be none", async () => {
  const client = await opened.open();
  await client.assign("ann", undefined, { age: 18, land: "AT", beta: true });
  await client.assign("ann", "signed", {});
  const bodies = opened.service.sent.map(({ body }) => body);
  const said = '{"unit":"ann","attributes":{"age":18,"land":"AT","beta":true}}';
  expect(bodies).toEqual([said, '{"unit":"ann","token":"signed"}']);
  const wrong = client.assign("ann", undefined, { age: NaN });
  await expect(wrong).rejects.toMatchObject({ code: "personal_value" });
});

/** Of how many requests, and of how many different ones, a network heard that always has this fault. */
async function countRequests(made: Opened, fault: Fault | Buffer): Promise<number[]> {
  made.service.fault = always(fault);
  const client = await made.open({ deadlineMs: fault === "hang" || fault === "drip" ? 1000 : 30_000 });
  const ann = await client.assign("ann");
  const why = fault === "too many" ? "too_many" : "unreachable";
  expect(ann).toMatchObject({ arm: "plain", payload: null, ticket: null, propensity: null, source: "fallback", why });
  const { sent } = made.service;
  return [sent.length, new Set(sent.map(({ path, body }) => path + body)).size];
}

describe("a service that is away costs at most two requests that say the same", () => {
  const faults = [...AWAY, ...GARBAGE].map((fault) => [String(fault).slice(0, 90), fault] as const);
  it.each(faults)("%s", async (_, fault) => {
    expect(await countRequests(opened, fault)).toEqual([fault === "too many" ? 1 : 2, 1]);
  });
});

/** Whether a person gets an arm, and one place, although the first request is lost. */
async function isMadeGood(made: Opened, fault: Fault | Buffer): Promise<boolean> {
  made.service.fault = only(fault);
  const client = await made.open({ deadlineMs: fault === "hang" ? 3000 : 30_000 });
  const ann = await client.assign("ann");
  return ann.ticket === "ticket0" && ann.source === "service" && made.service.places.size === 1;
}

describe("one lost request is made good", () => {
  const faults = ["drop request", "drop response", "unavailable", "hang", Buffer.from("garbage")] as const;
  it.each(faults)("%s", async (fault) => expect(await isMadeGood(opened, fault)).toBe(true));
});

type Ask = Calls["ask"];
const MUTANTS: Record<string, Ask> = {
  async stubborn(this: Calls, path, body, deadline) {
    let reply = NO_REPLY;
    for (let i = 0; i < 5; i++) reply = await this.post(path, body, deadline); // and keeps a service down that is down
    return reply;
  },
  async hopeless(this: Calls, path, body, deadline) {
    return this.post(path, body, deadline);
  },
  async forgetful(this: Calls, path, body, deadline, answers) {
    const first = await this.post(path, body, deadline);
    return answers(first) ? first : this.post(path, { unit: "somebody" }, deadline);
  },
};

test.each(Object.keys(MUTANTS))("another way to ask is found: %s", async (name) => {
  const real = Calls.prototype.ask;
  Calls.prototype.ask = MUTANTS[name] ?? real;
  try {
    const counted = await countRequests(opened, "unavailable").catch(() => [0]);
    expect(counted.join() !== "2,1" || !(await isMadeGood(opened, "drop response").catch(() => false))).toBe(true);
  } finally {
    Calls.prototype.ask = real;
  }
});

test("a service that asks to be left alone is", async () => {
  opened.service.fault = always({ "Retry-After": "7" });
  expect((await (await opened.open()).assign("ann")).source).toBe("fallback");
  expect(opened.service.sent.length).toBe(1);
});

test("while the service is away people keep their arms", async () => {
  const one = await opened.open();
  await one.assign("ann");
  const bob = await one.assign("bob");
  await one.close();
  const other = await opened.open(); // the application was started again
  opened.service.fault = always("drop request");
  const found = await other.assign("bob");
  expect([found.arm, found.payload, bob.arm]).toEqual(["bold", { subject: "HELLO" }, "bold"]);
  expect([found.ticket, found.source, found.why]).toEqual([null, "fallback", "unreachable"]);
  expect((await other.assign("eve")).arm).toBe("plain");
});

test("a stranger gets the arm that was served without a place", async () => {
  const client = await opened.open();
  await client.assign("ann");
  opened.service.enrols = false;
  expect((await client.assign("bob")).ticket).toBe(null); // the best one in what was released
  opened.service.fault = always("unavailable");
  expect([(await client.assign("eve")).arm, (await client.assign("ann")).arm]).toEqual(["bold", "plain"]);
});

test("a person whose budget is spent is served", async () => {
  opened.service.overBudget.add("ann");
  const ann = await (await opened.open()).assign("ann");
  expect([ann.arm, ann.ticket, ann.source, ann.why]).toEqual(["bold", null, "service", "budget_exceeded"]);
});

test("a study that does not run refuses", async () => {
  opened.service.state["/assign"] = 409;
  const ann = await (await opened.open()).assign("ann");
  expect([ann.arm, ann.ticket, ann.source, ann.why]).toEqual(["plain", null, "fallback", "not_running"]);
});

test.each([
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "unknown_study"],
  [422, "refused"],
])("a mistake is said: %d", async (status, code) => {
  opened.service.state["/assign"] = status;
  const client = await opened.open();
  const message = /^the service refuses the request: [a-z_]+$/;
  await expect(client.assign("ann")).rejects.toMatchObject({ code, message });
  expect(opened.service.sent.length).toBe(1);
});

test.each([401, 403, 404, 413])("another program that answers is no service: %d", async (status) => {
  const client = await opened.open();
  opened.service.handle = () => [status, "<h1>Not here</h1>"]; // a proxy that has lost its way to the service
  expect([(await client.assign("ann")).why, (await client.assign("bob")).why]).toEqual(["unreachable", "unreachable"]);
  expect(opened.said.filter((line) => line.includes(`status ${status}`)).length).toBe(1); // why is said once
});

test("what is wrong is refused before it is sent", async () => {
  const client = await opened.open();
  for (const unit of ["", "a".repeat(257), "two\nlines", "\u2028", "\ud800", null, 3]) {
    await expect(client.assign(unit as string)).rejects.toMatchObject({ code: "personal_value" });
  }
  expect((await client.assign("😀".repeat(256))).source).toBe("service"); // characters, and not halves of them
  opened.service.sent.length = 0;
  for (const url of ["ftp://a", "service.test", "http://", "http://me:secret@a", "http://a?key=1", 3]) {
    const refused = opened.open({ url: url as string });
    await expect(refused).rejects.toMatchObject({ code: "invalid_value", message: /^(?!.*secret)url is/ });
  }
  for (const key of ["", "two words", "a\r\nb", "é", null]) {
    await expect(opened.open({ key: key as string })).rejects.toThrow('key is "not shown"');
  }
  for (const study of ["", "../x", "a/b", "a b"]) await expect(opened.open({ study })).rejects.toThrow("study is");
  for (const deadlineMs of [0, -1, NaN, Infinity, "1"]) {
    await expect(opened.open({ deadlineMs: deadlineMs as number })).rejects.toThrow("deadlineMs is");
  }
  expect(opened.service.sent).toEqual([]);
});

test("nothing shows a key or a ticket", async () => {
  const client = await opened.open();
  const ann = await client.assign("ann");
  await client.expose(ann.ticket);
  await client.report(ann.ticket, 0.123456);
  await client.report("ticket99", 0.123456);
  expect(await client.flush()).toBe(true);
  await new Promise(setImmediate);
  const shown = `${inspect(client, { depth: 9, showHidden: true })} ${inspect(ann)} ${opened.said.join()}`;
  expect(shown).toContain("unknown_ticket");
  for (const secret of [KEY, "ticket0", "ticket99", "0.123456"]) expect(shown).not.toContain(secret);
});

test("a redirect is not followed, as it would take a key and outcomes elsewhere", async () => {
  const client = await opened.open();
  opened.service.fault = always({ Location: `${opened.service.url}/elsewhere` });
  expect((await client.assign("ann")).why).toBe("unreachable");
  expect(opened.service.sent.every(({ path }) => path.endsWith("/assign"))).toBe(true);
});

test("many people come at once", async () => {
  const client = await opened.open();
  const units = Array.from({ length: 40 }, (_, i) => `person ${i}`);
  const given = await Promise.all(units.map((unit) => client.assign(unit)));
  expect(new Set(given.map(({ ticket }) => ticket)).size).toBe(40);
  await new Promise(setImmediate);
  expect(opened.said).toEqual([]);
});

test("an answer that is too long is not waited for", async () => {
  const endless = createServer((_, response) => void response.write(Buffer.alloc(2 ** 23 + 1, " ")));
  await once(endless.listen(0, "127.0.0.1"), "listening");
  const calls = new Calls(`http://127.0.0.1:${(endless.address() as AddressInfo).port}`, KEY);
  const closed = once(endless, "connection").then(([socket]) => once(socket as Socket, "close"));
  expect(await calls.post("/", {}, 30_000)).toEqual(NO_REPLY);
  await closed;
  endless.close();
});

test("nobody listens", async () => {
  const client = await opened.open({ url: "http://127.0.0.1:9" });
  expect((await client.assign("ann")).why).toBe("unreachable");
});

test("a client that was closed is refused", async () => {
  const client = await opened.open();
  await client.close();
  await expect(client.assign("ann")).rejects.toThrow("client is");
});
