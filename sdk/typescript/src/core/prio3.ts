/**
 * Prio3Count and Prio3Sum of VDAF draft 18 for two servers: what a device makes of a number. The names and the
 * mathematics are those of secagg/prio3.py; what servers do with their shares is there alone.
 */
import { turboshake128 } from "@noble/hashes/sha3-addons.js";
import { type Bytes, joinBytes, writeWhole } from "./bytes.js";
import { refusePersonalValue, refuseValue } from "./errors.js";
import { FIELD } from "./field.js";

const WIRE = 18; // the draft whose messages these are
export const SEED = 32; // bytes
const MEASUREMENT = 1; // what randomness is for
const PROOF = 2;
const PROVING = 4;
const HELPER = Uint8Array.of(1);
const ONE_PROOF = Uint8Array.of(1);
const GENERATOR = raise(7n, 2n ** 32n - 1n); // of the roots of unity of order 2^32

/** A number of the field raised to a power. */
function raise(base: bigint, power: bigint): bigint {
  let product = 1n;
  for (let square = base; power; power >>= 1n, square = (square * square) % FIELD) {
    if (power & 1n) product = (product * square) % FIELD;
  }
  return product;
}

const reduce = (number: bigint): bigint => ((number % FIELD) + FIELD) % FIELD;

const invert = (number: bigint): bigint => raise(reduce(number), FIELD - 2n);

/** So many uniform numbers of the field from a seed. */
function expand(seed: Bytes, label: Bytes, binder: Bytes, count: number): bigint[] {
  const size = Uint8Array.of(label.length & 255, label.length >> 8);
  const stream = turboshake128.create({ D: 1 });
  stream.update(joinBytes(size, label, Uint8Array.of(seed.length), seed, binder));
  const found: bigint[] = [];
  while (found.length < count) {
    const number = new DataView(stream.xof(8).buffer).getBigUint64(0, true);
    if (number < FIELD) found.push(number); // one in 2^32 is not in the field, and left out
  }
  return found;
}

/** Numbers of the field as bytes. */
function pack(numbers: bigint[]): Bytes {
  const view = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((number, at) => view.setBigUint64(8 * at, number, true));
  return new Uint8Array(view.buffer);
}

/** What turns the values of a polynomial at the roots of an order into those at the roots between them. */
function weighHalfway(count: number): bigint[] {
  const root = raise(GENERATOR, 2n ** 32n / BigInt(2 * count));
  const scale = -2n * invert(BigInt(count));
  return Array.from({ length: count }, (_, at) => reduce(scale * invert(raise(root, BigInt(2 * at + 1)) - 1n)));
}

/** Whole numbers from 0 to `largest`, in shares for two servers with a proof. */
export class Range {
  readonly #weights: bigint[]; // what each bit of a value is worth; together they are worth `largest`
  readonly #wires: number; // polynomials through the bits: two for a single bit, whose product is taken
  readonly #points: number; // the order of the roots of unity at which the polynomials have the bits

  constructor(
    readonly largest: number,
    readonly context: Bytes,
  ) {
    if (!Number.isInteger(largest) || largest < 1 || largest >= 2 ** 32) {
      throw refuseValue("largest", largest, "a whole number from 1 to 2^32 - 1");
    }
    const count = largest.toString(2).length - 1;
    const powers = Array.from({ length: count }, (_, at) => 1n << BigInt(at));
    this.#weights = [...powers, BigInt(largest) - (1n << BigInt(count)) + 1n];
    this.#wires = largest === 1 ? 2 : 1;
    this.#points = 1 << this.#weights.length.toString(2).length;
  }

  /** The shares of the leader and of the helper; `rand` has 64 random bytes that are used once. */
  shard(value: bigint, rand: Bytes): [Bytes, Bytes] {
    if (rand.length !== 2 * SEED) throw refusePersonalValue("rand", `${2 * SEED} random bytes`);
    const [bits, helper] = [this.#encode(value), rand.slice(0, SEED)];
    const seeds = expand(rand.slice(SEED), this.#label(PROVING), ONE_PROOF, this.#wires);
    const mine = [...bits, ...this.#prove(bits, seeds)];
    const other = [
      ...expand(helper, this.#label(MEASUREMENT), HELPER, bits.length),
      ...expand(helper, this.#label(PROOF), joinBytes(ONE_PROOF, HELPER), mine.length - bits.length),
    ];
    return [pack(mine.map((number, at) => reduce(number - other[at]!))), helper];
  }

  /** What randomness is bound to: the version, the algorithm, what it is for, and the context. */
  #label(usage: number): Bytes {
    const algorithm = writeWhole(this.largest === 1 ? 1n : 2n, 4);
    return joinBytes(Uint8Array.of(WIRE, 0), algorithm, Uint8Array.of(0, usage), this.context);
  }

  /** The bits of a value. */
  #encode(value: bigint): bigint[] {
    if (value < 0n || value > BigInt(this.largest)) {
      throw refusePersonalValue("value", `a whole number from 0 to ${this.largest}`);
    }
    const count = this.#weights.length - 1;
    const last = value >> BigInt(count) ? 1n : 0n;
    const rest = value - last * this.#weights[count]!;
    return this.#weights.map((_, at) => (at === count ? last : (rest >> BigInt(at)) & 1n));
  }

  /** The proof that each of the bits is 0 or 1, all of it. */
  #prove(bits: bigint[], seeds: bigint[]): bigint[] {
    const points = this.#points;
    const weights = weighHalfway(points);
    const near = seeds.map((seed) => Array.from({ length: points }, (_, at) => (at ? (bits[at - 1] ?? 0n) : seed)));
    const far = near.map((wire) =>
      wire.map((_, at) => wire.reduce((sum, y, from) => sum + weights[(at - from + points) % points]! * y, 0n) % FIELD),
    );
    const values = Array.from({ length: points }, (_, at) =>
      [near, far].map((wires) => {
        const [a, b] = [wires[0]![at]!, wires.at(-1)![at]!];
        return reduce(a * b - (this.#wires === 1 ? a : 0n));
      }),
    );
    return [...seeds, ...values.flat()].slice(0, this.#wires + 2 * points - 1);
  }
}
