import { refuseValue } from "./errors.js";

/** In the order of their shares. */
export const ROLES = ["leader", "helper"] as const;

const LONGEST_NAME = 100;
const KEY_TEXT = /^[0-9a-f]{64}$/;
const ADDRESS_TEXT = /^(https?:\/\/[!-~]{1,200})?$/;
const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}\p{Zs}]$|^ $/u;

/** An address to which something can be sent. */
export const SERVICE_URL = /^https?:\/\/[^\s/?#@]+(\/[^\s?#@]*)?$/;

/** Fingerprints of the leader's and the helper's keys. */
export type PinnedOperators = readonly [string, string];

/** An operator of a study, with its public keys. */
export interface HandedOperator {
  readonly name: string;
  readonly seals: string; // of X25519, in hexadecimal
  readonly signs: string; // of Ed25519
  readonly address: string;
}

/** Whether a text is a fingerprint. */
export const isFingerprint = (text: unknown): text is string => typeof text === "string" && KEY_TEXT.test(text);

/** The leader and the helper of a place. */
export function readOperators(given: unknown): [HandedOperator, HandedOperator] {
  const isTable = (each: unknown) => each && typeof each === "object" && !Array.isArray(each);
  if (!Array.isArray(given) || given.length !== 2 || !given.every(isTable)) {
    throw refuseValue("operators of a place", "not shown", "a list of the leader and the helper");
  }
  return [readHandedOperator(ROLES[0], given[0]), readHandedOperator(ROLES[1], given[1])];
}

function readHandedOperator(role: string, given: Record<string, unknown>): HandedOperator {
  const { name, address = "", seals, signs } = given;
  const letters = typeof name === "string" ? [...name] : [];
  if (!letters.length || letters.length > LONGEST_NAME || !letters.every((letter) => PRINTABLE.test(letter))) {
    throw refuseValue(`name of the ${role}`, name, `a text of 1 to ${LONGEST_NAME} printable characters`);
  }
  if (typeof address !== "string" || !ADDRESS_TEXT.test(address)) {
    throw refuseValue(`address of the ${role}`, address, "a URL, or empty");
  }
  if (!isFingerprint(seals) || !isFingerprint(signs)) {
    throw refuseValue("keys of an operator", "not shown", "two texts of 64 hexadecimal digits");
  }
  return { name: name as string, address, seals, signs };
}
