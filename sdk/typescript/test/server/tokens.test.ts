/** Person tokens are those of Python. */


import { expect, test } from "vitest";

import { signPerson } from "../../src/server/index.js";
import { readVectors } from "../vectors.js";

interface Signed {
  private: string;
  study: string;
  unit: string;
  expires: number;
  token: string;
}

test("tokens are Python's, byte for byte", () => {
  const { signed } = readVectors("tokens") as { signed: Signed[] };
  expect(signed.length).toBeGreaterThan(2);
  for (const { private: key, study, unit, expires, token } of signed) {
    expect(signPerson(key, study, unit, expires)).toBe(token);
  }
});

test("what cannot be signed is refused, and nothing of it is shown", () => {
  const key = "11".repeat(32);
  const sign = (...given: unknown[]) => () => signPerson(...(given as [string, string, string, number]));
  for (const wrong of ["", "11", `${key}1`, null]) expect(sign(wrong, "a", "ann", 1)).toThrow("privateHex is");
  expect(sign("22".repeat(31), "a", "ann", 1)).toThrow(/^(?!.*2222)/);
  expect(sign(key, "a b", "ann", 1)).toThrow("study is");
  for (const unit of ["", "a\nb", "a".repeat(257)]) expect(sign(key, "a", unit, 1)).toThrow("personal and not shown");
  for (const expires of [1.5, -1, NaN, "1", 1_800_000_000_000]) {
    expect(sign(key, "a", "ann", expires)).toThrow("whole seconds since 1970");
  }
});
