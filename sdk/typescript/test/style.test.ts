import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VECTORS } from "./vectors.js";

const ROOT = join(import.meta.dirname, "..");
const FILES = ["src", "test"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name)),
);
const WRITTEN = FILES.filter((name) => !readFileSync(join(ROOT, name), "utf8").startsWith("// Written by"));

test.for(WRITTEN)("%s is as long and as wide as it may be", (name) => {
  const lines = readFileSync(join(ROOT, name), "utf8").split("\n");
  expect(lines.length).toBeLessThanOrEqual(320);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

test("every file of known answers is read by a test", () => {
  const tests = FILES.filter((name) => name.endsWith(".test.ts")).map((name) => readFileSync(join(ROOT, name), "utf8"));
  const known = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));
  expect(known.length).toBeGreaterThan(6);
  for (const name of known) expect(tests.join("\n")).toContain(`readVectors("${name.replace(".json", "")}")`);
});
