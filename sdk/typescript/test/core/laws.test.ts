/**
 * The law of every sampler, against its exact probabilities. By the inequality of Dvoretzky, Kiefer, Wolfowitz and
 * Massart the distribution function of DRAWS draws is further from the true one than TOLERANCE with probability
 * FALSE_ALARM at most, so one of the fifteen laws here is refused with probability 1.5 10^-8 at most if the samplers
 * are right. The seeds are fixed, so this happens always or never.
 */
import { createCipheriv } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Bits } from "../../src/core/bits.js";
import { Fraction } from "../../src/core/fractions.js";
import { drawLocalValue, randomizeResponse } from "../../src/core/local_reports.js";
import { drawBundle } from "../../src/core/mixed_messages.js";
import { readOffer } from "../../src/core/offers.js";
import { roundOutcome } from "../../src/core/rounding.js";
import {
  bernoulli, bernoulliExp, discreteGaussian, discreteLaplace, geometric, drawPolyas,
} from "../../src/core/sampling.js";

const DRAWS = 60_000;
const FALSE_ALARM = 1e-9;
const TOLERANCE = Math.sqrt(Math.log(2 / FALSE_ALARM) / (2 * DRAWS));
const FAR = 200; // beyond it no law here has a probability of 10^-12

/** Bits from a cipher: the same ones in every run. */
function makeBits(name: string): Bits {
  const cipher = createCipheriv("aes-128-ctr", name.padEnd(16).slice(0, 16), new Uint8Array(16));
  return new Bits((count) => new Uint8Array(cipher.update(new Uint8Array(count))));
}

/** Weights made into probabilities, from -FAR to FAR. */
function makeLaw(weigh: (z: number) => number): number[] {
  const weights = Array.from({ length: 2 * FAR + 1 }, (_, at) => weigh(at - FAR));
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

/** The largest distance of the distribution function of draws from that of a law. */
function findDistance(law: number[], draw: (bits: Bits) => bigint | boolean | number, name: string): number {
  const bits = makeBits(name);
  const counts = new Map<number, number>();
  for (let i = 0; i < DRAWS; i++) {
    const z = Number(draw(bits));
    counts.set(z, (counts.get(z) ?? 0) + 1);
  }
  let [found, right, most] = [0, 0, 0];
  law.forEach((p, at) => {
    found += (counts.get(at - FAR) ?? 0) / DRAWS;
    right += p;
    most = Math.max(most, Math.abs(found - right));
  });
  return most;
}

const read = (text: string) => Fraction.fromText(text);
const coin = (p: number) => makeLaw((z) => (z === 1 ? p : z === 0 ? 1 - p : 0));
const laplace = (scale: number) => (z: number) => Math.exp(-Math.abs(z) / scale);
const gauss = (variance: number) => (z: number) => Math.exp((-z * z) / (2 * variance));

/** What a law is after a coin of probability p has added one. */
const addCoin = (law: number[], p: number) => law.map((q, at) => q * (1 - p) + (law[at - 1] ?? 0) * p);

const LOCAL = "maskedbandit-offer-1 channel=Local n=9 steps=2 modulus=0 noise=";
const laplaceOffer = readOffer(`${LOCAL}DiscreteLaplace:2:1 terms=epsilon:1 position=0`);
const gaussOffer = readOffer(`${LOCAL}DiscreteGaussian:1:1 terms=epsilon:2 position=0`);

const COINS = "maskedbandit-offer-1 channel=Shuffled n=9 steps=1 modulus=0 noise=";
const coinsOffer = readOffer(`${COINS} terms=coins:30,delta:1/100,epsilon:1,needed:30 position=2`); // four of them
const SHARES = "maskedbandit-offer-1 channel=SplitAndMix n=9 steps=2 modulus=64 noise=DiscreteLaplace:4:3";
const sharesOffer = readOffer(`${SHARES} terms=epsilon:1/2,eta:1/100,messages:4 position=2`);

/** Weights of a part of a geometric, of a shape and a rate. */
function weighPolya(shape: number, rate: number, z: number): number {
  let weight = z < 0 ? 0 : 1;
  for (let x = 1; x <= z; x++) weight *= ((shape + x - 1) / x) * Math.exp(-rate);
  return weight;
}

/** The law of the difference of two parts, and so much more. */
function lawOfShares(shape: number, rate: number, more: number): number[] {
  const part = Array.from({ length: 200 }, (_, x) => weighPolya(shape, rate, x));
  return makeLaw((z) => part.reduce((sum, p, x) => sum + p * (part[x + Math.abs(z - more)] ?? 0), 0));
}

const add = (messages: bigint[]): bigint => messages.reduce((sum, message) => sum + message, 0n);

/** A residue as the whole number that is nearest to 0. */
const unwrap = (sum: bigint, modulus: bigint): bigint => ((sum + modulus / 2n) % modulus) - modulus / 2n;

/** A uniform number from 0 to 1 of so many binary digits, as a sampler has that rounds. */
const roundUniform = (bits: Bits, digits: bigint) => (Number(bits.below(1n << digits)) + 0.5) / 2 ** Number(digits);

type Sampler = (bits: Bits) => bigint | boolean | number;

const LAWS: [name: string, law: number[], draw: Sampler, twin: Sampler][] = [
  [
    "a coin of 1/3",
    coin(1 / 3),
    (bits) => bernoulli(read("1/3"), bits),
    (bits) => bernoulli(read("3/8"), bits), // to eighths
  ],
  [
    "a coin of e^-7/3",
    coin(Math.exp(-7 / 3)),
    (bits) => bernoulliExp(read("7/3"), bits),
    (bits) => bernoulliExp(read("2"), bits), // to whole numbers
  ],
  [
    "a geometric of rate 2/7",
    makeLaw((z) => (z < 0 ? 0 : Math.exp((-z * 2) / 7))),
    (bits) => geometric(read("2/7"), bits),
    (bits) => Math.round(-Math.log(roundUniform(bits, 52n)) / (2 / 7)), // an exponential to the nearest number
  ],
  [
    "discrete Laplace of scale 1",
    makeLaw(laplace(1)),
    (bits) => discreteLaplace(read("1"), bits),
    (bits) => Math.round(Math.log(roundUniform(bits, 52n)) * (bits.below(2n) ? 1 : -1)), // Laplace, rounded
  ],
  [
    "discrete Laplace of scale 12/5",
    makeLaw(laplace(12 / 5)),
    (bits) => discreteLaplace(read("12/5"), bits),
    (bits) => discreteLaplace(read("2"), bits),
  ],
  [
    "discrete Gaussian of variance 1/4",
    makeLaw(gauss(1 / 4)),
    (bits) => discreteGaussian(read("1/4"), bits),
    (bits) => Math.round(drawGauss(bits) / 2), // Gaussian, rounded
  ],
  [
    "discrete Gaussian of variance 30",
    makeLaw(gauss(30)),
    (bits) => discreteGaussian(read("30"), bits),
    (bits) => discreteGaussian(read("25"), bits), // as a deviation of 5.48 is 5
  ],
  [
    "an outcome of 1/3 in 4 steps",
    addCoin(makeLaw((z) => (z === 1 ? 1 : 0)), 1 / 3),
    (bits) => roundOutcome(read("1/3"), 4n, bits),
    () => 1, // to the nearest step
  ],
  [
    "randomized response of epsilon 1 to 1",
    coin(Math.E / (1 + Math.E)),
    (bits) => randomizeResponse(read("1"), read("1"), bits),
    (bits) => bits.below(4n) > 0n, // a flip of 0.27 is 1/4
  ],
  [
    "a local report with discrete Laplace noise",
    addCoin(makeLaw(laplace(2)), 0.6),
    (bits) => drawLocalValue(laplaceOffer, read("3/10"), bits),
    (bits) => discreteLaplace(read("2"), bits) + 1n,
  ],
  [
    "a local report with discrete Gaussian noise",
    addCoin(makeLaw(gauss(1)), 0.6),
    (bits) => drawLocalValue(gaussOffer, read("3/10"), bits),
    (bits) => drawLocalValue(laplaceOffer, read("3/10"), bits),
  ],
  [
    "a part of a geometric, of shape 1/3 and rate 2/7",
    makeLaw((z) => weighPolya(1 / 3, 2 / 7, z)),
    (bits) => drawPolyas(1, read("1/3"), read("2/7"), bits)[0]!,
    (bits) => drawPolyas(1, read("1/4"), read("2/7"), bits)[0]!,
  ],
  [
    "a one and the ones of four coins, for a shuffler",
    makeLaw((z) => [1, 4, 6, 4, 1][z - 1] ?? 0),
    (bits) => add(drawBundle(coinsOffer, 1n, bits)),
    (bits) => 1n + 4n * bits.below(2n), // one coin, four times
  ],
  [
    "a step and a noise share, for a shuffler",
    lawOfShares(1 / 3, 1 / 4, 1),
    (bits) => unwrap(add(drawBundle(sharesOffer, 1n, bits)), 64n),
    (bits) => 1n + discreteLaplace(read("4"), bits), // a whole draw
  ],
  [
    "the last message of a bundle that adds up",
    makeLaw((z) => (z >= 0 && z < 64 ? 1 : 0)),
    (bits) => drawBundle(sharesOffer, 2n, bits).at(-1)!,
    (bits) => add(drawBundle(sharesOffer, 2n, bits)) % 64n, // all of the value in one of them
  ],
];

/** A draw of the normal law by floating-point numbers. */
function drawGauss(bits: Bits): number {
  const [u, v] = [roundUniform(bits, 52n), roundUniform(bits, 52n)];
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
}

describe.for(LAWS)("%s", ([name, law, draw, twin]) => {
  test("has its law", () => expect(findDistance(law, draw, name)).toBeLessThan(TOLERANCE));

  test("and a twin that rounds has not", () => expect(findDistance(law, twin, name)).toBeGreaterThan(TOLERANCE));
});
