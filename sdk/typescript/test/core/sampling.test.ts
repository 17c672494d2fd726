import { expect, test } from "vitest";
import { Bits } from "../../src/core/bits.js";
import { Fraction } from "../../src/core/fractions.js";
import * as sampling from "../../src/core/sampling.js";
import { fromHex, readVectors } from "../vectors.js";

const { pages, draws } = readVectors("samplers");

/** Gives the pages of the file in their order. */
function drawPages(): (count: number) => Uint8Array<ArrayBuffer> {
  const left = [...pages];
  return () => fromHex(left.shift());
}

const SAMPLERS: Record<string, (entry: any, bits: Bits) => bigint | boolean> = {
  below: (entry, bits) => bits.below(BigInt(entry.n)),
  bernoulli: (entry, bits) => sampling.bernoulli(Fraction.fromText(entry.p), bits),
  bernoulli_exp: (entry, bits) => sampling.bernoulliExp(Fraction.fromText(entry.gamma), bits),
  geometric: (entry, bits) => sampling.geometric(Fraction.fromText(entry.rate), bits),
  discrete_laplace: (entry, bits) => sampling.discreteLaplace(Fraction.fromText(entry.scale), bits),
  discrete_gaussian: (entry, bits) => sampling.discreteGaussian(Fraction.fromText(entry.variance), bits),
};

test.for(draws.filter((entry: any) => entry.sampler in SAMPLERS))("known draws of $sampler", (entry: any) => {
  const bits = new Bits(drawPages());
  const found = entry.draws.map(() => `${BigInt(SAMPLERS[entry.sampler]!(entry, bits))}`);
  expect(found).toEqual(entry.draws);
});
