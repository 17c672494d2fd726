/** What an application says of a person when the person comes, for rules of a study on who is enrolled. */

import { refusePersonalValue } from "./errors.js";

/** Names with texts, numbers, true or false. None is stored or shown. */
export type PersonAttributes = Readonly<Record<string, string | number | boolean>>;

const MOST_ATTRIBUTES = 32;
const LONGEST_TEXT = 256; // characters of an attribute
const ATTRIBUTE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** Why the protocol of a study turns somebody away, who gets the default arm, and may be enrolled another time. */
export const TURNED_AWAY: ReadonlySet<string> = new Set(["not_eligible", "other_study", "not_yet"]);

/** Whether a rule can be about this, so that it can be an attribute. */
export function mayMatter(name: string, value: unknown): value is string | number | boolean {
  if (!ATTRIBUTE_NAME.test(name)) return false;
  if (typeof value === "string") return [...value].length <= LONGEST_TEXT && !/\p{Cs}/u.test(value);
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

/** What is said of a person; left out it is nothing. */
export function checkAttributes(given: unknown): PersonAttributes {
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw refusePersonalValue("attributes", "an object");
  }
  const found = Object.entries(given);
  if (found.length > MOST_ATTRIBUTES || !found.every(([name, value]) => mayMatter(name, value))) {
    const named = `at most ${MOST_ATTRIBUTES}, named by 1 to 64 letters, digits, dots, hyphens or underscores`;
    const allowed = `${named}, and each a string of at most ${LONGEST_TEXT} characters, a finite number or a boolean`;
    throw refusePersonalValue("attributes", allowed);
  }
  return given as PersonAttributes;
}

/** What a context of OpenFeature says of a person, but for what no rule can be about. */
export function pickAttributes(context: Readonly<Record<string, unknown>>): PersonAttributes {
  const { targetingKey: _, token: __, ...said } = context;
  return checkAttributes(Object.fromEntries(Object.entries(said).filter(([name, value]) => mayMatter(name, value))));
}

/** The attributes as a part of the body of a request: none at all if there are none. */
export function writeAttributes(given: unknown): { attributes?: PersonAttributes } {
  const attributes = checkAttributes(given);
  return Object.keys(attributes).length ? { attributes } : {};
}
