import { expect, test } from "vitest";
import { Bits } from "../../src/core/bits.js";
import { Fraction } from "../../src/core/fractions.js";
import { drawLocalValue, writeLocalReport } from "../../src/core/local_reports.js";
import { priceLocalOffer } from "../../src/core/offer_prices.js";
import { readOffer } from "../../src/core/offers.js";
import { readPlace } from "../../src/core/place.js";
import { giveBytes } from "../fixed.js";
import { fromHex, readVectors } from "../vectors.js";

const { pages } = readVectors("samplers");

test.for(readVectors("local_offers").offers as any[])("$text, pure $pure, cap $cap, of $metric", (entry) => {
  const { text, least, cap, metric, pure, epsilon, refused } = entry;
  const price = () => `${priceLocalOffer(readOffer(text), least, cap, metric, pure)}`;
  if (refused) expect(price).toThrow(new RegExp(`^${refused} is `));
  else expect(price()).toBe(epsilon);
});

test.for(readVectors("local_reports").reports as any[])("values $values for $records under $place.offer", (entry) => {
  const place = readPlace(entry.place);
  const held = new Map<string, Fraction>();
  for (const [metric, value] of entry.records) {
    held.set(metric, place.findOutcome(metric).addRecord(held.get(metric) ?? null, value));
  }
  const bits = new Bits(giveBytes(fromHex(pages.slice(entry.first_page).join(""))));
  const values = place.outcomes.map((outcome) => {
    return drawLocalValue(outcome.offer, outcome.scaleOutcome(held.get(outcome.metric) ?? null), bits);
  });
  expect(values.map(Number)).toEqual(entry.values);
  const bodies = place.outcomes.map(({ metric }, at) =>
    writeLocalReport(place.ticket, values[at]!, metric, giveBytes(fromHex(entry.proofs[at]))),
  );
  expect(bodies).toEqual(entry.bodies);
});

test("noise that no device draws is none", () => {
  const head = "maskedbandit-offer-1 channel=Local n=9 steps=2 modulus=0";
  const skellam = `${head} noise=Skellam:2:1 terms=epsilon:1 position=0`;
  expect(() => drawLocalValue(readOffer(skellam), new Fraction(1n), new Bits())).toThrow(TypeError);
});

test("a body has one size, whatever it says, and reads as JSON", () => {
  const values = [0n, -1n, 2n ** 53n, -(2n ** 53n)];
  const bodies = values.map((value) => writeLocalReport("k3v7", value, "", () => fromHex("00".repeat(16))));
  expect(new Set(bodies.map((body) => body.length)).size).toBe(1);
  expect(bodies.map((body) => JSON.parse(body).value)).toEqual(values.map(Number));
});
