/** What may be said of a person, as in Python: test_enrolment.py. */
import { expect, test } from "vitest";

import { checkAttributes, pickAttributes, writeAttributes } from "../../src/core/attributes.js";

const FITS = { country: "AT", age: 17.5, beta: false };
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, i]));

test("attributes that rules can be about are sent as they are, and none is no field at all", () => {
  expect(writeAttributes(FITS)).toEqual({ attributes: FITS });
  expect(writeAttributes(undefined)).toEqual({});
  expect(writeAttributes({})).toEqual({});
  expect(checkAttributes(many(32))).toEqual(many(32));
});

test.each([
  [null], ["age"], [[1]], [many(33)], [{ "": 1 }], [{ "a b": 1 }], [{ ["x".repeat(65)]: 1 }], [{ age: null }],
  [{ age: undefined }], [{ age: [18] }], [{ age: NaN }], [{ age: Infinity }], [{ age: 18n }], [{ land: "\ud800" }],
  [{ land: "x".repeat(257) }],
])("attributes of other kinds are refused without being shown: %o", (given) => {
  let why: any;
  try {
    checkAttributes(given);
  } catch (wrong) {
    why = wrong;
  }
  expect(why?.code).toBe("personal_value");
  expect(why.message).not.toContain("xxx");
});

test("of a context what can be no attribute is passed over", () => {
  const others = { targetingKey: "ann", token: "signed", tags: ["a"], when: new Date(0), long: "x".repeat(257) };
  expect(pickAttributes({ ...others, ...FITS })).toEqual(FITS);
  expect(() => pickAttributes(many(33))).toThrow("at most 32");
});
