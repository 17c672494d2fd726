/** Processes of one folder: one has it at a time, and what it was promised outlives it. */

import { spawn, type ChildProcess } from "node:child_process";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { beforeAll, expect, test } from "vitest";

import { takeTurn } from "../../src/server/turn.js";
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

test("a promise that is made too early is found", async () => {
  expect((await countLost("too early")).lost).toBeGreaterThan(0);
});

test("a second process, and a second client, are refused by name", async () => {
  const client = await opened.open();
  const other = run();
  const another = expect(opened.open()).rejects.toMatchObject({ code: "folder_in_use", message: /a folder for each/ });
  expect(await read(other)).toBe("folder_in_use");
  await another;
  await opened.open({ study: "banner" }); // one of another study is not
  await client.close();
  await opened.open();
});

test("a process that is replaced is waited for", async () => {
  const first = await opened.open();
  const next = opened.open();
  await first.close();
  await next;
});

// --- the turn

test("of many that pass a dead one by, one has the turn", async () => {
  const folder = mkdtempSync(join(tmpdir(), "m".repeat(150))); // longer than the path of a socket may be
  for (let round = 0; round < 20; round++) {
    const dead = await takeTurn(folder, "x");
    await dead.close();
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => takeTurn(folder, "x", 0)));
    const taken = tries.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(taken.length).toBeLessThanOrEqual(1);
    const [turn = await takeTurn(folder, "x")] = taken;
    await expect(takeTurn(folder, "x", 0)).rejects.toMatchObject({ code: "folder_in_use" });
    await turn.close();
    expect(readdirSync(folder).length).toBe(1);
  }
  rmSync(folder, { recursive: true });
});

test("a turn whose name was given away by hand is nobody's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "maskedbandit-"));
  writeFileSync(join(folder, "x.turn-7"), ""); // a copy of a folder has no sockets
  const turn = await takeTurn(folder, "x");
  expect(readdirSync(folder)).toEqual(["x.turn-8"]);
  await turn.close();
  unlinkSync(join(folder, "x.turn-8"));
  await (await takeTurn(folder, "x")).close();
  rmSync(folder, { recursive: true });
});
