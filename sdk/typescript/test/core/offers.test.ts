import { expect, test } from "vitest";
import { digestOffer } from "../../src/core/digests.js";
import { readOffer, readOffers, writeOffer } from "../../src/core/offers.js";
import { priceSealedOffer } from "../../src/core/sealed_places.js";
import { readVectors, toHex } from "../vectors.js";

test.for(readVectors("offers").offers as any[])("$text", async ({ text, least, digest, epsilon, refused }) => {
  if (digest) {
    expect(toHex(await digestOffer(readOffer(text)))).toBe(digest);
    expect(writeOffer(readOffer(text))).toBe(text);
  }
  const price = () => `${priceSealedOffer(readOffer(text), least)}`;
  if (refused) expect(price).toThrow(new RegExp(`^${refused} is `));
  else expect(price()).toBe(epsilon);
});

const GOOD =
  "maskedbandit-offer-1 channel=Local n=9 steps=2 modulus=0 noise=DiscreteLaplace:2:1 terms=epsilon:1 position=0";

test.for([
  ["n=9", "n=0"],
  ["n=9", "n=18446744073709551617"],
  ["steps=2", "steps=18446744073709551617"],
  ["modulus=0", "modulus=18446744073709551617"],
  ["Laplace:2:1", "Laplace:0:1"],
  ["Laplace:2:1", "Laplace:-2:1"],
  ["Laplace:2:1", "Laplace:2/0:1"],
  ["Laplace:2:1", "Laplace:2:0"],
  ["Laplace:2:1", "Laplace:2:10"],
  ["epsilon:1", "epsilon:1/0"],
  ["epsilon:1", "epsilon:-0"],
  ["epsilon:1", "epsilon:1,epsilon:1"],
  ["epsilon:1", "epsilon:1,cap:3"],
  ["epsilon:1", "epsilon:1,"],
  ["position=0", "position=9"],
  ["position=0", "position=-1"],
] as const)("a text with %s in place of it is not one of an offer", ([good, bad]) => {
  expect(() => readOffer(GOOD)).not.toThrow();
  expect(() => readOffer(GOOD.replace(good, bad))).toThrow(/^the text of an offer is /);
});

test("what is no text is none of offers either", () => {
  for (const given of [undefined, null, 7, {}, [GOOD], "x".repeat(2 ** 16 + 1)]) {
    expect(() => readOffer(given)).toThrow(/^the text of an offer is /);
    expect(() => readOffers(given)).toThrow(/^the text of offers is /);
  }
  expect(readOffers(`${GOOD}\n${GOOD} metric=unsubscribed`).map((offer) => offer.metric)).toEqual(["", "unsubscribed"]);
  expect(() => readOffers(`${GOOD}\n`)).toThrow(/^the text of an offer is /);
});
