import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EXACT_FILES, findInexact } from "../exactness.js";

test("nothing that protects a person is computed with a floating-point number", () => {
  expect(findInexact()).toEqual([]);
});

const SAMPLING = "src/core/sampling.ts";

test.for([
  [SAMPLING, "bits.below(p.under) < p.over", "Number(bits.below(p.under)) < Number(p.over)"],
  [SAMPLING, "bits.below(2n) < 1n", "Math.random() < 0.5"],
  [SAMPLING, "bits.below(2n) < 1n", 'globalThis["Math"]["random"]() < 1'],
  [SAMPLING, "let k = 1n;", "let k = 1n, tries = 0; tries += 1;"],
  ["src/core/rounding.ts", "over / under", "BigInt(parseInt(`${over / under}`))"],
  ["src/core/rounding.ts", "over % under", "over % (under as any)"],
  ["src/core/outcomes.ts", "before.plus(newest)", "Fraction.fromNumber(value + 1)"],
  ["src/core/mixed_messages.ts", "left & 1n", "BigInt(Number(left) & 1)"],
  ["src/core/masked_values.ts", "value % modulus", "BigInt(Number(value) % Number(modulus))"],
  ["src/core/shamir.ts", "(above + secret) % PRIME", "BigInt(Math.trunc(Number(above + secret)))"],
  ["src/core/coins.ts", "(few + enough) / 2n", "BigInt(Math.trunc(Number(few + enough) / 2))"],
  ["src/core/words.ts", "this.#draw(PAGE_WORDS * WORD_BYTES)", "new Uint8Array(4096).map(() => 256 * Math.random())"],
] as const)("a twin in which %s has another text than %s is found", ([name, good, bad]) => {
  const text = readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  expect(text).toContain(good);
  const found = findInexact({ [name]: text.replace(good, bad) });
  expect(found.length).toBeGreaterThan(0);
  expect(found.every((place) => place.startsWith(`${name}:`))).toBe(true);
});

test("the files exist", () => {
  for (const name of EXACT_FILES) expect(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")).not.toBe("");
});
