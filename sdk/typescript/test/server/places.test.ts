/** What was given before is known for some months, and by its hash alone. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { TURNED_AWAY } from "../../src/core/attributes.js";
import { Assigned } from "../../src/server/answers.js";
import { hashUnit, KnownArms } from "../../src/server/places.js";

const DAY = 24 * 3600 * 1000;
const ANN = new Assigned("bold", { subject: "HELLO" }, "abc", "1/3");
let [folder, now] = ["", 0];
const open = () => KnownArms.open(folder, () => now);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "maskedbandit-"));
  now = 1000;
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a person is found until long after the last visit", async () => {
  const known = await open();
  await known.remember("newsletter", "ann", ANN);
  now += 90 * DAY - 1;
  const again = new Assigned("bold", { subject: "HELLO" }, "abc", "1/3", true);
  expect(await known.find("newsletter", "ann")).toEqual(again);
  await known.remember("newsletter", "ann", ANN); // she comes again
  now += 90 * DAY - 1;
  expect(await known.places("ann")).toEqual([{ study: "newsletter", ticket: "abc" }]);
  now += 2;
  expect(await known.places("ann")).toEqual([]);
  expect(await known.find("newsletter", "ann")).toBe(null);
  await (await open()).sweep();
  expect(readdirSync(folder)).toEqual([]);
});

test("a person who comes often is written down once, and a file does not grow with changes", async () => {
  const known = await open();
  const path = join(folder, hashUnit("ann").slice(0, 3));
  await known.remember("newsletter", "ann", ANN);
  const { size } = statSync(path);
  for (let i = 0; i < 5; i++) await known.remember("newsletter", "ann", ANN);
  expect(statSync(path).size).toBe(size);
  for (const arm of ["plain", "bold"]) await known.remember("newsletter", "ann", new Assigned(arm, null, "abc", "1/3"));
  await known.remember("another", "ann", ANN);
  expect(readFileSync(path, "utf8").split("\n").length).toBe(3);
});

test("the files list no names, and a line that was cut is passed by", async () => {
  const known = await open();
  await Promise.all(["ann@example.org", "bob"].map((unit) => known.remember("newsletter", unit, ANN)));
  const path = join(folder, hashUnit("bob").slice(0, 3));
  expect(readFileSync(path, "utf8")).toContain("bold");
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), "utf8")).not.toContain("example.org");
  writeFileSync(path, `${readFileSync(path, "utf8")}{"study":\n`);
  expect((await known.find("newsletter", "bob"))?.arm).toBe("bold");
  await known.sweep();
  expect(readFileSync(path, "utf8").split("\n").length).toBe(2);
});

test.each(['{"study":"newsl', JSON.stringify({ study: "newsletter", unit: hashUnit("bob"), arm: "x", until: 1e15 })])(
  "what is written after a line that was cut off is found: %s",
  async (cut) => {
    writeFileSync(join(folder, hashUnit("ann").slice(0, 3)), cut);
    const known = await open();
    await known.remember("newsletter", "ann", ANN);
    expect(await known.places("ann")).toHaveLength(1);
    writeFileSync(join(folder, "devices"), cut);
    await (await open()).keepOnDevices("newsletter");
    expect((await open()).staysOnDevice("newsletter")).toBe(true);
  },
);

test("whoever left is not known any more", async () => {
  const known = await open();
  await known.remember("newsletter", "ann", ANN);
  await known.remember("banner", "ann", ANN);
  await known.forget("newsletter", "abc");
  expect(await known.places("ann")).toEqual([{ study: "banner", ticket: "abc" }]);
});

test("in which studies outcomes stay on devices is known after a start", async () => {
  await (await open()).keepOnDevices("newsletter");
  const known = await open();
  expect([known.staysOnDevice("newsletter"), known.staysOnDevice("banner")]).toEqual([true, false]);
});

test("that somebody was turned away is not remembered, but the default arm is", async () => {
  const known = await open();
  const give = (arm: string, why: string) => new Assigned(arm, null, null, "1", false, "service", why);
  await known.remember("newsletter", "bob", give("best", "budget_exceeded"));
  expect((await known.served("newsletter"))?.arm).toBe("best");
  for (const why of TURNED_AWAY) {
    await known.remember("newsletter", "eve", give("plain", why));
    expect(await known.find("newsletter", "eve")).toBe(null);
  }
  await known.remember("newsletter", "bob", give("best", "finished"));
  expect((await known.served("newsletter"))?.arm).toBe("plain");
  expect(await known.served("another")).toBe(null);
  await known.remember("newsletter", "eve", ANN); // she became eligible
  expect((await known.find("newsletter", "eve"))?.ticket).toBe("abc");
  now += 91 * DAY;
  await (await open()).sweep();
  expect(readdirSync(folder)).toEqual([]);
});
