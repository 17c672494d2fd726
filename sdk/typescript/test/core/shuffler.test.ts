/** A place with a shuffler: what its offers cost, and what a device sends, as Python does it. */
import { describe, expect, test } from "vitest";
import { Agreed } from "../../src/core/agreed.js";
import { Bits } from "../../src/core/bits.js";
import { priceMixedOffer } from "../../src/core/mixed_places.js";
import { drawBundle } from "../../src/core/mixed_messages.js";
import { readOffer } from "../../src/core/offers.js";
import { readPlace } from "../../src/core/place.js";
import { sealBundleReport, showPass } from "../../src/core/shuffled_reports.js";
import { splitValue } from "../../src/core/splitting.js";
import { fixSealer, giveBytes } from "../fixed.js";
import { fromHex, readVectors } from "../vectors.js";

const { pages } = readVectors("samplers");
const BUNDLES: any[] = readVectors("bundles").bundles;
const [{ place: GIVEN }] = BUNDLES;
const PINNED = readVectors("fingerprints").fingerprints.slice(0, 2).map((entry: any) => entry.fingerprint);

test.for(readVectors("mixed_offers").offers as any[])("$text, cap $cap", ({ text, least, cap, refused, ...price }) => {
  const find = () => priceMixedOffer(readOffer(text), least, cap);
  if (refused) {
    expect(find).toThrow(new RegExp(`^${refused} is `));
  } else {
    const { epsilon, delta } = find();
    expect({ epsilon: `${epsilon}`, delta: `${delta}` }).toEqual(price);
  }
});

describe.for(BUNDLES)("bundle of $steps steps under $place.offer", (entry) => {
  const place = readPlace(entry.place);
  const makeBits = () => new Bits(giveBytes(fromHex(pages.slice(entry.first_page).join(""))));

  test("has the known messages", () => {
    expect(drawBundle(place.offer, BigInt(entry.steps), makeBits()).map(String)).toEqual(entry.messages);
  });

  test("is the known body", async () => {
    const pass = await showPass(place, entry.shown);
    expect({ ...JSON.parse(entry.body), sealed: undefined }).toEqual({ ...JSON.parse(pass), sealed: undefined });
    const sealer = fixSealer(...entry.ephemeral);
    expect(await sealBundleReport(place, BigInt(entry.steps), pass, makeBits(), sealer)).toBe(entry.body);
  });

  test("has the same size whatever it says, and is another one each time", async () => {
    const pass = await showPass(place, entry.shown);
    const said = [0n, place.offer.steps, 0n];
    const bodies = await Promise.all(said.map((steps) => sealBundleReport(place, steps, pass)));
    expect(bodies.map((body) => body.length)).toEqual(bodies.map(() => entry.body.length));
    expect(new Set(bodies).size).toBe(3);
  });
});

const change = (from: string, to: string) => readPlace({ ...GIVEN, offer: GIVEN.offer.replace(from, to) });
const handed = (changes: object) =>
  readPlace({ ...GIVEN, operators: [GIVEN.operators[0], { ...GIVEN.operators[1], ...changes }] });

test("only a place that is as agreed is taken", async () => {
  const agreed = new Agreed(1, { operators: PINNED, least: 50, delta: 0.000001 });
  expect(readPlace(GIVEN).shuffled).toBe(true);
  expect(`${await agreed.check(readPlace(GIVEN))}`).toBe("1");
  expect(await agreed.trusts(readPlace(GIVEN))).toBe(true);
  const refused = (place: any, by = agreed) => expect(by.check(place)).rejects;
  await refused(change("needed:80", "needed:79")).toThrow(/^coins of an offer is /);
  await refused(change("n=100", "n=49")).toThrow(/^n of an offer is /);
  for (const address of ["", "https://helper.example?to=us"]) {
    await refused(handed({ address })).toThrow(/^address of the helper is /);
  }
  await refused(handed({ signs: "0".repeat(64) })).toThrow(/^keys of the helper is /);
  expect(await agreed.trusts(handed({ signs: "0".repeat(64) }))).toBe(false);
  await refused(readPlace({ ...GIVEN, cap: 2 })).toThrow(/^cap of a place is 2/);
  for (const delta of [0, "1/1000001"]) {
    const less = new Agreed(1, { operators: PINNED, delta });
    await refused(readPlace(GIVEN), less).toThrow(/^delta of an offer is 1\/1000000: it must be at most /);
  }
  await refused(readPlace(GIVEN), new Agreed(1, { delta: 0.5 })).toThrow(/^operators of a place is /);
});

test("a probability that cannot be is refused", () => {
  for (const delta of [-0.1, 1, NaN, "", "x", "1/0", null]) {
    expect(() => new Agreed(1, { delta: delta as never })).toThrow(/^delta is /);
  }
  expect([0, 1e-7, "1/3"].map((delta) => `${new Agreed(1, { delta }).delta}`)).toEqual(["0", "1/10000000", "1/3"]);
});

test("a pass that is none is not shown", async () => {
  for (const shown of [undefined, null, 7, "", "5B".repeat(64), "5b".repeat(63), ["5b".repeat(64)]]) {
    expect(await showPass(readPlace(GIVEN), shown)).toBe("");
  }
});

test("messages add up to a value, and are below the modulus", () => {
  for (const value of [0n, 63n, -5n, 200n]) {
    const messages = splitValue(value, 7n, 64n, new Bits());
    expect(messages).toHaveLength(7);
    expect(messages.every((message) => message >= 0n && message < 64n)).toBe(true);
    expect((messages.reduce((sum, message) => sum + message) - value) % 64n).toBe(0n);
  }
});
