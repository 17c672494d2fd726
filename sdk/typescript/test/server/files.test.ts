/** What is on the disk: whole after every end of a process, for one user alone, and nothing of what was sent. */

import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { symlinkSync, unlinkSync } from "node:fs";
import { open, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { Outbox } from "../../src/server/outbox.js";
import { hashUnit } from "../../src/server/places.js";
import { STUDY } from "./fake_service.js";
import { always, eachOpens } from "./opened.js";

const opened = eachOpens();

/** All that is in the files of a folder. */
function readFiles(folder: string): Buffer {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return Buffer.concat(names.map((each) => readFileSync(join(each.parentPath, each.name))));
}

test("the files are for this user alone", async () => {
  const client = await opened.open();
  await client.report((await client.assign("ann")).ticket, 1);
  const found = readdirSync(opened.folder, { recursive: true, withFileTypes: true });
  const modes = found.map((each) => [each.isDirectory(), statSync(join(each.parentPath, each.name)).mode & 0o777]);
  for (const [isFolder, mode] of modes) if (isFolder) expect(mode).toBe(0o700);
  const files = found.filter((each) => each.isFile());
  expect(files.map((each) => statSync(join(each.parentPath, each.name)).mode & 0o777)).toEqual(files.map(() => 0o600));
  expect(files.length).toBe(3);
});

test.each([0o755, 0o701])("a folder into which others look is refused, and not changed: %d", async (mode) => {
  chmodSync(opened.folder, mode);
  await expect(opened.open()).rejects.toMatchObject({ code: "storage_failed", message: /mode 700/ });
  symlinkSync(opened.folder, `${opened.folder}-link`);
  await expect(opened.open({ folder: `${opened.folder}-link` })).rejects.toMatchObject({ code: "storage_failed" });
  unlinkSync(`${opened.folder}-link`);
  expect(statSync(opened.folder).mode & 0o777).toBe(mode);
  expect(readdirSync(opened.folder)).toEqual([]);
});

test("nothing is left of what was sent", async () => {
  const client = await opened.open();
  const canaries = ["0.123456789", "a private event", "ann@example.org"];
  const find = () => canaries.filter((canary) => readFiles(opened.folder).includes(canary));
  const { ticket } = await client.assign("ann@example.org");
  opened.service.fault = always("unavailable");
  await client.expose(ticket);
  await client.report(ticket, 0.123456789, { event: "a private event" });
  await client.report("another", 1); // the file is not emptied: what was sent is overwritten
  expect(find()).toEqual(["0.123456789", "a private event"]);
  opened.service.fault = () => undefined;
  expect(await client.flush()).toBe(true);
  expect(find()).toEqual([]);
});

describe("a file", () => {
  const put = (outbox: Outbox, ticket: string, value: number) =>
    outbox.put({ study: STUDY, ticket, kind: "report", event: "", value });
  const list = (outbox: Outbox) => outbox.next(STUDY, 9999).map(({ ticket, value }) => [ticket, value]);
  const path = () => join(opened.folder, "some.messages");
  const start = () => Outbox.open(path(), Buffer.alloc(32));

  /** What of a report can be read in the file after it was sent, by whoever reads bytes, while another waits. */
  async function findLeftovers(): Promise<boolean> {
    const outbox = await start();
    await put(outbox, "a", 0.123456789);
    await put(outbox, "b", 2);
    await outbox.settle(outbox.next(STUDY, 1));
    await outbox.close();
    const content = readFileSync(path());
    expect(content.includes('"b"')).toBe(true);
    return content.includes("0.123456789");
  }

  test("has nothing of what was sent, while more waits", async () => expect(await findLeftovers()).toBe(false));

  test("that only forgets is found", async () => {
    await writeFile(path(), "");
    const handle = await open(path());
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const { write } = prototype;
    prototype.write = function (this: FileHandle, ...given: [Buffer, number, number, number]) {
      const isBlank = given[0].every((byte) => byte === 32);
      return isBlank ? Promise.resolve({ bytesWritten: given[2] }) : Reflect.apply(write, this, given);
    } as FileHandle["write"];
    try {
      expect(await findLeftovers()).toBe(true);
    } finally {
      prototype.write = write;
    }
  });

  test("that ends in the middle of a line gives what was whole", async () => {
    const outbox = await start();
    await put(outbox, "a", 1);
    await put(outbox, "b", 2);
    await outbox.close();
    const whole = readFileSync(path());
    const first = whole.indexOf("\n") + 1;
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(path(), whole.subarray(0, length));
      const found = await start();
      const expected = [["a", 1], ["b", 2]].slice(0, length < first ? 0 : length < whole.length ? 1 : 2);
      expect(list(found)).toEqual(expected);
      await put(found, "c", 3); // it goes on
      await found.close();
      const again = await start();
      expect(list(again)).toEqual([...expected, ["c", 3]]);
      await again.close();
    }
  });

  test("of which a part was never written passes it by", async () => {
    const outbox = await start();
    for (const [ticket, value] of [["a", 1], ["b", 2], ["c", 3]] as const) await put(outbox, ticket, value);
    await outbox.close();
    const content = readFileSync(path());
    const at = content.indexOf('"b"');
    content.fill(0, at - 5, at + 9);
    writeFileSync(path(), content);
    const found = await start();
    expect(list(found)).toEqual([["a", 1], ["c", 3]]);
    await found.close();
    expect(readFileSync(path()).includes("b")).toBe(false); // nor is it found again
  });

  test("in which much was sent is written anew, and the one before is overwritten", async () => {
    const outbox = await start();
    const before = await open(path(), "r");
    const puts = Array.from({ length: 20_000 }, (_, i) => put(outbox, `t${i}`, i));
    await Promise.all(puts);
    const stay = new Set(["t5", "t19999"]);
    await outbox.settle(outbox.next(STUDY, 20_000).filter(({ ticket }) => !stay.has(ticket)));
    expect(statSync(path()).size).toBeLessThan(1000);
    expect((await before.readFile()).every((byte) => byte === 32)).toBe(true);
    await before.close();
    await put(outbox, "last", 7);
    const [first] = outbox.next(STUDY, 1);
    await outbox.settle(first ? [first] : []);
    await outbox.close();
    const again = await start();
    expect(list(again)).toEqual([["t19999", 19999], ["last", 7]]);
    await again.close();
  });

  test.each(["sync", "writeFile"] as const)("that cannot be written anew goes on: %s", async (name) => {
    const outbox = await start();
    await Promise.all(Array.from({ length: 20_000 }, (_, i) => put(outbox, `t${i}`, i)));
    const handle = await open(path(), "r+");
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const opens = readdirSync("/proc/self/fd").length;
    const real = prototype[name];
    prototype[name] = () => Promise.reject(Object.assign(new Error(), { code: "EMFILE" }));
    const settled = await outbox.settle(outbox.next(STUDY, 15_000)).catch((why: { code: string }) => why.code);
    prototype[name] = real as never;
    expect(settled).toBe("storage_failed");
    await put(outbox, "last", 1);
    expect(readFileSync(path(), "utf8")).toContain(`"last"`); // and not in a file that has lost its name
    expect(readdirSync("/proc/self/fd").length).toBe(opens);
    await outbox.close();
  });

  test("on a full disk is said before a message counts as written", async () => {
    const outbox = await start();
    await put(outbox, "a", 1);
    const handle = await open(path(), "r+");
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const { datasync } = prototype;
    prototype.datasync = () => Promise.reject(Object.assign(new Error("0.123456"), { code: "ENOSPC" }));
    const refused = put(outbox, "b", 2);
    await expect(refused).rejects.toMatchObject({ code: "storage_failed", message: /ENOSPC/ });
    prototype.datasync = datasync;
    await put(outbox, "c", 3);
    expect(list(outbox)).toEqual([["a", 1], ["c", 3]]);
    await outbox.close();
    const again = await start();
    expect(list(again)).toEqual([["a", 1], ["c", 3]]);
    await again.close();
  });
});

test("people are served although the arms cannot be kept", async () => {
  const client = await opened.open();
  const arms = readdirSync(opened.folder).find((name) => name.endsWith(".arms")) ?? "";
  mkdirSync(join(opened.folder, arms, hashUnit("ann").slice(0, 3))); // where a file is to be
  expect((await client.assign("ann")).ticket).toBe("ticket0");
  await new Promise(setImmediate);
  expect(opened.said.join()).toContain("the arms that were given are not kept");
});
