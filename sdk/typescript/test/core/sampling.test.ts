import { expect, test } from "vitest";
import { Bits } from "../../src/core/bits.js";
import { Fraction } from "../../src/core/fractions.js";
import { randomizeResponse } from "../../src/core/local_reports.js";
import { roundOutcome } from "../../src/core/rounding.js";
import {
  bernoulli, bernoulliExp, discreteGaussian, discreteLaplace, geometric, drawPolyas,
} from "../../src/core/sampling.js";
import { fromHex, readVectors } from "../vectors.js";

const { pages, draws } = readVectors("samplers");
const SERVERS_ALONE = ["exact_poisson", "skellam"]; // noise that no device of these ways draws

const read = (text: string) => Fraction.fromText(text);

const SAMPLERS: Record<string, (entry: any, bits: Bits) => bigint | boolean> = {
  below: (entry, bits) => bits.below(BigInt(entry.n)),
  bernoulli: (entry, bits) => bernoulli(read(entry.p), bits),
  bernoulli_exp: (entry, bits) => bernoulliExp(read(entry.gamma), bits),
  geometric: (entry, bits) => geometric(read(entry.rate), bits),
  discrete_laplace: (entry, bits) => discreteLaplace(read(entry.scale), bits),
  discrete_gaussian: (entry, bits) => discreteGaussian(read(entry.variance), bits),
  polya: (entry, bits) => drawPolyas(1, read(entry.shape), read(entry.rate), bits)[0]!,
  response: (entry, bits) => randomizeResponse(read(entry.reward), read(entry.epsilon), bits),
  round_outcome: (entry, bits) => roundOutcome(read(entry.value), BigInt(entry.steps), bits),
};

/** Gives the pages from the first one on, and then those in which a word is its own number. */
function givePages(): (count: number) => Uint8Array<ArrayBuffer> {
  let given = 0;
  return (count) => {
    if (given < pages.length) return fromHex(pages[given++]);
    return new Uint8Array(BigUint64Array.from({ length: count / 8 }, (_, at) => BigInt(512 * given + at)).buffer);
  };
}

const known: any[] = draws.filter((entry: any) => !SERVERS_ALONE.includes(entry.sampler));

test.for(known)("known draws of $sampler", (entry) => {
  const [bits, twin] = [new Bits(givePages()), new Bits(givePages())];
  const found = entry.draws.map(() => `${BigInt(SAMPLERS[entry.sampler]!(entry, bits))}`);
  expect(found).toEqual(entry.draws);
  for (let word = 0; word < entry.words; word++) twin.below(2n ** 64n);
  expect(bits.below(2n ** 64n)).toBe(twin.below(2n ** 64n)); // so many words were taken, and no more
});

test("what cannot be drawn is refused", () => {
  const bits = new Bits();
  for (const n of [0n, -1n, 3 as never]) expect(() => bits.below(n)).toThrow(/^n is /);
  for (const p of ["-1/2", "3/2"]) expect(() => bernoulli(read(p), bits)).toThrow(/^p is /);
  expect(() => bernoulliExp(read("-1"), bits)).toThrow(/^gamma is /);
  expect(() => geometric(read("0"), bits)).toThrow(/^rate is /);
  expect(() => drawPolyas(1, read("0"), read("1"), bits)[0]!).toThrow(/^shape is /);
  expect(() => drawPolyas(1, read("1"), read("-1"), bits)[0]!).toThrow(/^rate is /);
  expect(() => discreteLaplace(read("0"), bits)).toThrow(/^scale is /);
  expect(() => discreteGaussian(read("-1"), bits)).toThrow(/^variance is /);
});

test("wide numbers have as many words as Python's", () => {
  const bits = new Bits(() => new Uint8Array(BigUint64Array.from({ length: 512 }, (_, at) => BigInt(at)).buffer));
  const found = [2n ** 128n, 2n ** 128n - 1n, 2n ** 64n].map((n) => bits.below(n));
  expect(found).toEqual([9407839477591871324669n, 9370945989444452221435n, 506n]); // three words, two, and one
});
