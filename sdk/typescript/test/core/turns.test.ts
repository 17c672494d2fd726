import { expect, test } from "vitest";
import { readPlace } from "../../src/core/place.js";
import { chooseTurn } from "../../src/core/turns.js";
import { readVectors } from "../vectors.js";

const [{ place: GIVEN }] = readVectors("uploads").uploads;
const PLACE = readPlace({ ...GIVEN, exposed: 0, window: 100, grace: 50 });
const LOCAL = readPlace({ ...GIVEN, exposed: 0, window: 100, grace: 50, operators: undefined });

const makeTurn = (turn: number, made: number, answer = "") => ({ turn, made, answer });

test.for([
  ["standing: the first contact reports the default", null, 0, true, 0],
  ["standing: every later one reports anew", makeTurn(3, 50), 60, true, 4],
  ["standing: whether or not there was an answer", makeTurn(3, 50, "stored"), 60, true, 4],
  ["the first one after the window reports its end", makeTurn(3, 99, "stored"), 100, true, 4],
  ["which is sent again", makeTurn(4, 100), 120, true, 4],
  ["until there is an answer", makeTurn(4, 100, "stored"), 120, true, null],
  ["at the last moment, too", makeTurn(4, 100), 150, true, 4],
  ["and never after it", makeTurn(4, 100), 151, true, null],
  ["nothing begins after it", null, 151, true, null],
  ["deadline: nothing within the window", null, 99, false, null],
  ["deadline: one report after it", null, 100, false, 0],
  ["deadline: which is sent again", makeTurn(0, 100), 140, false, 0],
  ["deadline: until there is an answer", makeTurn(0, 100, "stored"), 140, false, null],
] as const)("%s", ([, last, now, standing, turn]) => {
  expect(chooseTurn(PLACE, last, now, standing)).toBe(turn);
});

test("with a shuffler nothing is sent within the window, and one report after it", () => {
  const [{ place }] = readVectors("bundles").bundles;
  const mixed = readPlace({ ...place, exposed: 0, window: 100, grace: 50 });
  const found = [0, 99, 100, 150, 151].map((now) => chooseTurn(mixed, null, now, true));
  expect(found).toEqual([null, null, 0, 0, null]);
});

test("under local trust nothing is sent within the window, and one report after it", () => {
  const found = [0, 99, 100, 150, 151].map((now) => chooseTurn(LOCAL, null, now, true));
  expect(found).toEqual([null, null, 0, 0, null]);
});
