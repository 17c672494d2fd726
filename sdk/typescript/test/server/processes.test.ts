/** Processes of one folder: one has it at a time, and what it was promised outlives it. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { beforeAll, expect, test } from "vitest";

import { takeTurn, Turn } from "../../src/server/turn.js";
import { eachOpens } from "./opened.js";

const opened = eachOpens();
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

beforeAll(() => execFileSync("npx", ["tsc", "-p", "tsconfig.build.json"], { cwd: ROOT }), 120_000);

interface Application {
  process: ChildProcess;
  lines: AsyncIterator<string>;
}

function run(first = 0, ...twin: string[]): Application {
  const command = [join(ROOT, "test/server/process.mjs"), opened.service.url, opened.folder, String(first), ...twin];
  const env = { ...process.env, NODE_NO_WARNINGS: "1" };
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"], env });
  return { process: child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function read({ lines }: Application): Promise<string> {
  return String((await lines.next()).value);
}

async function kill({ process: child, lines }: Application): Promise<string[]> {
  child.kill("SIGKILL");
  const last: string[] = [];
  for (let line = await lines.next(); !line.done; line = await lines.next()) last.push(line.value);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return last;
}

/** What processes that were killed had promised, and did not arrive, and how much more did. */
async function countLost(...twin: string[]): Promise<{ lost: number; more: number }> {
  opened.service.fault = () => "unavailable";
  const promised: string[] = [];
  for (let round = 0; round < 5; round++) {
    const application = run(1000 * round, ...twin);
    expect(await read(application)).toBe("open"); // although the one before closed nothing
    for (let i = 0; i < 10 + 7 * round; i++) promised.push(await read(application));
    promised.push(...(await kill(application)));
  }
  return settle(promised);
}

/** Send what is left: what had been promised and did not arrive, and how much more did. */
async function settle(promised: string[]): Promise<{ lost: number; more: number }> {
  opened.service.fault = () => undefined;
  for (let i = 0; i < 7; i++) opened.service.places.set(`t${i}`, { ticket: `t${i}` });
  for (let i = 0; i < 7; i++) opened.service.exposed.add(`t${i}`);
  const client = await opened.open();
  expect(await client.flush(60_000)).toBe(true);
  const found = new Set([...opened.service.reports.keys()].map((key) => key.split("\n")[1] ?? ""));
  const lost = promised.filter((each) => !found.has(each)).length;
  expect([...opened.service.reports].every(([key, value]) => Number(key.split("\n")[1]) % 1000 === value)).toBe(true);
  return { lost, more: found.size + lost - promised.length };
}

test("what was written outlives kill -9, and the next process sends it", async () => {
  const { lost, more } = await countLost();
  expect(lost).toBe(0);
  expect(more).toBeLessThanOrEqual(5); // written, and killed before it was said
});

test("a person gets an arm although the process that keeps it does not answer", async () => {
  const busy = run();
  expect(await read(busy)).toBe("open");
  busy.process.kill("SIGSTOP");
  const client = await opened.open({ deadlineMs: 1000 });
  const ann = await client.assign("ann");
  expect([ann.source, ann.ticket]).toEqual(["service", "ticket0"]);
  const exposed = client.expose(ann.ticket);
  await kill(busy);
  await exposed;
  expect(await client.flush()).toBe(true);
  expect([...opened.service.exposed]).toEqual(["ticket0"]);
});

test("a promise that is made too early is found", async () => {
  expect((await countLost("too early")).lost).toBeGreaterThan(0);
});

test("whoever has the turn is killed, and nothing that any process was promised is lost", async () => {
  opened.service.fault = () => "unavailable";
  const promised: string[] = [];
  const running: Application[] = [];
  const begin = async (first: number) => {
    const application = run(first);
    running.push(application);
    expect(await read(application)).toBe("open");
  };
  for (let i = 0; i < 3; i++) await begin(1000 * i);
  for (let round = 0; round < 4; round++) {
    for (const each of running) for (let i = 0; i < 15; i++) promised.push(await read(each));
    const [holder] = running.splice(0, 1);
    if (holder) promised.push(...(await kill(holder)));
    await begin(1000 * (3 + round));
  }
  for (const each of running) promised.push(...(await kill(each)));
  const { lost, more } = await settle(promised);
  expect(lost).toBe(0);
  expect(more).toBeLessThanOrEqual(7); // written, and killed before it was said
});

test("what one process says of a person first arrives first, whoever says the rest", async () => {
  const [one, two, three] = [await opened.open(), await opened.open(), await opened.open()];
  const { ticket } = await two.assign("ann");
  opened.service.fault = () => "unavailable";
  await two.expose(ticket);
  await three.report(ticket, 1, { event: "a" });
  const unasked = [two.report(ticket, 2, { event: "b" }), three.report(ticket, 3, { event: "c" })];
  expect(await three.flush(10)).toBe(false);
  await one.close(0); // which had the turn
  await Promise.all(unasked);
  await two.report(ticket, 4, { event: "d" });
  expect((await three.assign("ann")).arm).toBe("plain");
  opened.service.fault = () => undefined;
  expect([await two.flush(), await three.flush()]).toEqual([true, true]);
  expect([...opened.service.reports.values()].sort()).toEqual([1, 2, 3, 4]);
  expect([two.refused, three.refused]).toEqual([{}, {}]);
  await two.close();
  await three.report(ticket, 5, { event: "e" });
  await three.close();
  expect(opened.service.reports.size).toBe(5);
});

test("another process is told that outcomes stay on the device", async () => {
  const [one, two] = [await opened.open(), await opened.open()];
  opened.service.extra = { offer: "noise is born on the device" };
  const { ticket } = await two.assign("ann");
  for (const each of [one, two]) {
    await expect(each.report(ticket, 1)).rejects.toMatchObject({ code: "outcome_stays_on_device" });
  }
});

test("whoever is asked when the turn is given up is asked again", async () => {
  const clients = [await opened.open(), await opened.open()];
  const { ticket } = await clients[0]!.assign("ann");
  await clients[0]!.expose(ticket);
  for (let round = 0; round < 10; round++) {
    const told = Array.from({ length: 20 }, (_, i) => clients[1]!.report(ticket, i, { event: `${round} ${i}` }));
    await clients.shift()?.close();
    await Promise.all(told);
    clients.push(await opened.open());
  }
  expect(await clients[0]!.flush()).toBe(true);
  expect(opened.service.reports.size).toBe(200);
});

// --- the turn

async function takeOwn(folder: string): Promise<Turn> {
  const found = await takeTurn(folder, "x");
  if (!(found instanceof Turn)) throw new Error("another has the turn");
  return found;
}

test("of many that pass a dead one by, one has the turn", async () => {
  const folder = mkdtempSync(join(tmpdir(), "m".repeat(150))); // longer than the path of a socket may be
  for (let round = 0; round < 20; round++) {
    await (await takeOwn(folder)).close();
    const found = await Promise.all(Array.from({ length: 12 }, () => takeTurn(folder, "x")));
    const taken = found.filter((each) => each instanceof Turn);
    for (const each of found) if (each instanceof Socket) each.destroy();
    expect(taken.length).toBeLessThanOrEqual(1);
    const [turn = await takeOwn(folder)] = taken;
    const other = await takeTurn(folder, "x");
    expect(other).toBeInstanceOf(Socket);
    await turn.close();
    (other as Socket).destroy();
    expect(readdirSync(folder).length).toBe(1);
  }
  rmSync(folder, { recursive: true });
});

test("a turn whose name was given away by hand is nobody's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "maskedbandit-"));
  writeFileSync(join(folder, "x.turn-7"), ""); // a copy of a folder has no sockets
  const turn = await takeOwn(folder);
  expect(readdirSync(folder)).toEqual(["x.turn-8"]);
  await turn.close();
  unlinkSync(join(folder, "x.turn-8"));
  await (await takeOwn(folder)).close();
  rmSync(folder, { recursive: true });
});
