/** What was reported arrives once, whatever the network and the processes do. */

import { join } from "node:path";

import { expect, test } from "vitest";

import type { Refusal } from "../../src/server/answers.js";
import { choosePause } from "../../src/server/delivery.js";
import { Outbox, type Message } from "../../src/server/outbox.js";
import type { Client } from "../../src/server/index.js";
import { GARBAGE, STUDY, type Fault } from "./fake_service.js";
import { always, eachOpens, only, type Opened } from "./opened.js";

const [PEOPLE, EVENTS] = [12, 3];
const FAULTS: Fault[] = ["drop request", "drop response", "duplicate", "reorder", "unavailable", "too many"];
const opened = eachOpens();

/** Three of four requests have a fault, for a while: then the network is as it should be. */
function makeFaulty(seed: number): () => Fault | Buffer | undefined {
  let [state, left] = [seed, 60];
  const draw = (n: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31; // only to choose faults
    return Math.floor((state / 2 ** 31) * n);
  };
  return () => {
    if (--left <= 0) return undefined;
    const some = [...FAULTS, ...FAULTS, GARBAGE[draw(GARBAGE.length)], undefined, undefined];
    return some[draw(some.length)];
  };
}

/** How many reports were lost, how many counted twice or in another order, and how many were refused. */
async function play(made: Opened, seed: number): Promise<number[]> {
  const sent = new Map<string, number>();
  const client = await made.open();
  const tickets: (string | null)[] = [];
  for (let i = 0; i < PEOPLE; i++) tickets.push((await client.assign(`unit ${seed} ${i}`)).ticket);
  made.service.fault = makeFaulty(seed);
  for (let event = 0; event < EVENTS; event++) {
    for (const [i, ticket] of tickets.entries()) {
      if (event === 0) await client.expose(ticket);
      const value = 1 + i + event / 8;
      await client.report(ticket, value, { event: `event ${event}` });
      sent.set(`${ticket}\nevent ${event}`, value);
    }
  }
  while (!(await client.flush(5))); // in a hurry: it does not pause
  const refused = Object.values(client.refused).reduce((sum, count) => sum + count, 0);
  await client.close();
  const { reports } = made.service;
  const order = new Map<string, string[]>(); // as they came first
  for (const key of reports.keys()) {
    const [ticket = "", event = ""] = key.split("\n");
    order.set(ticket, [...(order.get(ticket) ?? []), event]);
  }
  const swapped = [...order.values()].filter((events) => events.join() !== [...events].sort().join()).length;
  const lost = [...sent].filter(([key, value]) => reports.get(key) !== value).length;
  const more = [...reports].filter(([key, value]) => sent.get(key) !== value).length;
  reports.clear();
  return [lost, more + swapped, refused];
}

test.each([1, 2, 3, 4, 5])("nothing is lost or doubled: %d", async (seed) => {
  expect(await play(opened, seed)).toEqual([0, 0, 0]);
});

const { next, put, settle, writeBody } = Outbox.prototype;
let written: Message[] = [];
const MUTANTS: Record<string, Partial<Outbox>> = {
  forgetful: {
    next(this: Outbox, study: string, most: number) {
      const found = next.call(this, study, most);
      void this.settle(found); // when it is sent
      return found;
    },
  },
  anew: {
    writeBody(this: Outbox, message: Message) {
      const body = writeBody.call(this, message);
      return "event" in body ? { ...body, event: String(performance.now()) } : body;
    },
  },
  everything: {
    put(this: Outbox, message: Message) {
      written.push(message);
      return put.call(this, message);
    },
    settle(this: Outbox, messages: Iterable<Message>) {
      const gone = new Set(messages);
      written = written.filter((each) => !gone.has(each));
      return settle.call(this, gone);
    },
    next: (_: string, most: number) => written.slice(-most).reverse(), // all of a ticket at once
  },
};

test.each(Object.keys(MUTANTS))("a mutant loses or doubles: %s", async (name) => {
  Object.assign(Outbox.prototype, MUTANTS[name]);
  try {
    const found: number[][] = [];
    for (const seed of [1, 2, 3]) found.push(await play(opened, seed));
    expect(found.some((each) => each.some((count) => count > 0))).toBe(true);
  } finally {
    Object.assign(Outbox.prototype, { next, put, settle, writeBody });
    written = [];
  }
});

test("what an earlier process left is sent, although nobody writes anything", async () => {
  const one = await opened.open();
  const { ticket } = await one.assign("ann");
  opened.service.fault = always("drop request");
  await one.expose(ticket);
  await one.report(ticket, 0.5);
  expect(await one.flush(10)).toBe(false);
  await one.close(0);
  expect(opened.service.reports.size).toBe(0);
  opened.service.fault = () => undefined;
  expect(await (await opened.open()).flush()).toBe(true);
  expect([...opened.service.reports]).toEqual([["ticket0\n", 0.5]]);
});

test("what is not waited for is written in its order, before a client closes", async () => {
  const one = await opened.open();
  const { ticket } = await one.assign("ann");
  void one.expose(ticket);
  for (let i = 0; i < 50; i++) void one.report(ticket, i, { event: `e${String(i).padStart(2, "0")}` });
  await one.close();
  expect([...opened.service.reports.values()]).toEqual([...Array(50).keys()]);
});

test("a proof is made of a secret of the folder, as Python makes it", async () => {
  const outbox = await Outbox.open(join(opened.folder, "some.messages"), Buffer.alloc(32, 7));
  const message = { study: "newsletter", ticket: "abc", kind: "report", event: "", value: 1 } as const;
  const [plain, guarded] = ["89defa4e449a81759682666a1ae2adee", "b75b80c4ca5b9a4c5149a887f80611b7"];
  expect(outbox.writeBody(message)).toEqual({ ticket: "abc", value: 1, event: "", proof: plain });
  const harm = { ticket: "abc", value: 1, event: "x", metric: "harm", proof: guarded };
  expect(outbox.writeBody({ ...message, event: "harm\nx" })).toEqual(harm);
  expect(outbox.writeBody({ ...message, kind: "expose" })).toEqual({ ticket: "abc" });
  await outbox.close();
});

test("a client closes, although the service never answers", async () => {
  const client = await opened.open();
  opened.service.fault = always("hang");
  await client.report("abc", 1);
  const late = new Promise((resolve) => setTimeout(resolve, 20_000, "late").unref()); // a request may take longer
  expect(await Promise.race([client.close(10), late])).toBe(undefined);
});

const REFUSED: [string, number[]][] = [
  ["conflict", [1, 2]],
  ["late", [1]],
  ["unknown_ticket", [1]],
  ["reward_out_of_range", [5000]],
];

test.each(REFUSED)("a final refusal is dropped and counted: %s", async (code, values) => {
  const found: Refusal[] = [];
  const client = await opened.open({ onRefused: (refusal) => found.push(refusal) });
  let { ticket } = await client.assign("ann");
  await client.expose(ticket);
  if (code === "late") opened.service.late.add(String(ticket));
  if (code === "unknown_ticket") ticket = "another";
  for (const value of values) await client.report(ticket, value);
  expect(await client.flush()).toBe(true);
  expect(client.refused).toEqual({ [code]: 1 });
  expect(found).toEqual([{ study: STUDY, ticket, kind: "report", event: "", code }]);
});

test("a report without an exposure is refused and not thrown", async () => {
  const client = await opened.open({
    onRefused() {
      throw new Error("0.123456");
    },
  });
  await client.report((await client.assign("ann")).ticket, 0.123456);
  expect(await client.flush()).toBe(true);
  expect(client.refused).toEqual({ not_exposed: 1 });
  expect(opened.said.join()).not.toContain("0.123456");
});

const OTHER = [400, 401, 403, 404, 405, 408, 413, 429, 500, 502, 503];

test.each(OTHER)("no other answer ends the retries: %d", async (status) => {
  const client = await opened.open();
  const { ticket } = await client.assign("ann");
  opened.service.state["/batch"] = status;
  await client.expose(ticket);
  await client.report(ticket, 1);
  expect(await client.flush(20)).toBe(false);
  opened.service.state = {};
  expect(await client.flush()).toBe(true);
  expect([...opened.service.reports.values()]).toEqual([1]);
  expect(client.refused).toEqual({});
});

test.each([413, 422])("a batch that is refused as a whole is sent in parts: %d", async (status) => {
  const { service } = opened;
  const real = service.handle.bind(service);
  service.handle = (path, text) => {
    const { requests = [] } = JSON.parse(text) as { requests?: { value: number }[] };
    const isBad = path.includes("report/batch") && requests.some(({ value }) => value === 666);
    return isBad && (status === 422 || requests.length > 1) ? [status, { code: "invalid_value" }] : real(path, text);
  };
  const client = await opened.open();
  for (let i = 0; i < 20; i++) {
    const { ticket } = await client.assign(`unit ${i}`);
    await client.expose(ticket);
    await client.report(ticket, i === 7 ? 666 : i);
  }
  expect(await client.flush()).toBe(true);
  expect(service.reports.size).toBe(status === 422 ? 19 : 20);
  expect(client.refused).toEqual(status === 422 ? { invalid_value: 1 } : {});
});

test("what cannot be a report is refused at once", async () => {
  const client = await opened.open();
  for (const value of [NaN, Infinity, "1", null, true]) {
    await expect(client.report("abc", value as number)).rejects.toMatchObject({ code: "personal_value" });
  }
  for (const ticket of ["", "A", "a b", "a".repeat(65), 3]) {
    await expect(client.report(ticket as string, 1)).rejects.toMatchObject({ code: "personal_value" });
    await expect(client.expose(ticket as string)).rejects.toMatchObject({ code: "personal_value" });
    await expect(client.leave(ticket as string)).rejects.toMatchObject({ code: "personal_value" });
  }
  for (const event of ["a".repeat(129), "two\nlines", 3]) {
    const refused = client.report("abc", 1, { event: event as string });
    await expect(refused).rejects.toMatchObject({ code: "personal_value" });
  }
  await expect(client.report("abc", 1, { metric: "a b" })).rejects.toMatchObject({ code: "invalid_value" });
  await client.expose(null);
  await client.report(null, 1); // a fallback: nothing to say
  expect(await client.flush()).toBe(true);
  expect(opened.service.sent).toEqual([]);
});

test("whoever leaves is erased at the service, and here", async () => {
  const client = await opened.open();
  const [ann, bob] = [await client.assign("ann"), await client.assign("bob")];
  opened.service.fault = always("unavailable");
  for (const { ticket } of [ann, bob]) {
    await client.expose(ticket);
    await client.report(ticket, 1);
  }
  await client.leave(ann.ticket);
  expect((await client.assign("ann")).arm).toBe("plain"); // the fallback: nobody is known
  expect((await client.assign("bob")).arm).toBe(bob.arm);
  opened.service.fault = () => undefined;
  expect(await client.flush()).toBe(true);
  expect(opened.service.left).toEqual([ann.ticket]);
  await client.leave(ann.ticket); // whom the service does not know any more
  expect(await client.flush()).toBe(true);
  expect([opened.service.left, client.refused]).toEqual([[ann.ticket], {}]);
  expect([...opened.service.reports.keys()]).toEqual([`${bob.ticket}\n`]);
});

test("of whoever left nothing is sent any more, also after a start", async () => {
  const before = await opened.open();
  const ann = await before.assign("ann");
  await before.leave(ann.ticket);
  await before.report(ann.ticket, 1);
  await before.close();
  const client = await opened.open();
  await client.expose(ann.ticket);
  await client.report(ann.ticket, 1);
  expect(await client.flush()).toBe(true);
  expect(opened.service.sent.map(({ path }) => path.replace(/.*\//, ""))).toEqual(["assign", "leave"]);
  expect(client.refused).toEqual({});
});

test.each([{ offer: "maskedbandit-offer-1 ..." }, { device: { ticket: "ticket0" } }])(
  "outcomes that stay on the device are refused by name, and not sent: %o",
  async (extra) => {
    opened.service.extra = extra;
    const one = await opened.open();
    const ann = await one.assign("ann");
    expect([ann.source, ann.ticket]).toEqual(["service", "ticket0"]);
    expect(ann.device).toEqual("device" in extra ? extra.device : null);
    await one.expose(ann.ticket);
    const code = "outcome_stays_on_device";
    await expect(one.report(ann.ticket, 0.5)).rejects.toMatchObject({ code });
    await one.close();
    const other = await opened.open(); // after a start, and for any ticket of the study
    await expect(other.report("another", 0.5)).rejects.toMatchObject({ code });
    expect(await other.flush()).toBe(true);
    expect(opened.service.sent.some(({ path }) => path.includes("report"))).toBe(false);
  },
);

test("pauses grow, and are never shorter than the service asks for", () => {
  expect([1, 2, 3, 99].map((failures) => choosePause(failures, 0, 1))).toEqual([0.25, 0.5, 1, 60]);
  expect(choosePause(1, 7, 0)).toBe(7.125);
});

test("a service is never sent what waits for another, nor with the key of another study", async () => {
  const one = await opened.open();
  const { ticket } = await one.assign("ann");
  opened.service.fault = always("drop request");
  await one.report(ticket, 1);
  await one.close(0);
  opened.service.fault = () => undefined;
  opened.service.sent.length = 0;
  for (const options of [{ url: `${opened.service.url}/other` }, { study: "another-study" }]) {
    const other: Client = await opened.open(options);
    expect(await other.flush()).toBe(true);
  }
  expect(opened.service.sent).toEqual([]);
});

test("the log says what waits once, and no more", async () => {
  const client = await opened.open();
  const { ticket } = await client.assign("ann");
  opened.service.fault = only(...Array<Fault>(4).fill("unavailable"));
  await client.expose(ticket);
  while (!(await client.flush(5)));
  await new Promise(setImmediate);
  expect(opened.said).toEqual([`MaskedBanditWarning: outcomes of ${STUDY} wait: the service answers with status 503`]);
});
