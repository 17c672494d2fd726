/** What all devices of a round agree on before it begins: each computes it from its offer, as secagg/plan.py says. */
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, encodeText, joinBytes, writeWhole } from "./bytes.js";
import { refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import { type Neighbourhood, chooseNeighbours, completeGraph } from "./neighbours.js";
import { hashBytes } from "./ring.js";

const SMALL_COHORT = 128n; // up to this size a complete graph costs little
const MOST_DEVICES = 1_000_000n; // of a cohort
const MOST_NEIGHBOURS = 7800n; // of a device
const LARGEST_SMALLEST = 2 ** 32;
const MOST_ATTEMPTS = 100;
const PART_TEXT = /^(0|0?[.][0-9]{1,9}|[1-9][0-9]{0,8}\/[1-9][0-9]{0,8})$/;
const GRAPHS = ["auto", "complete", "sparse"];
const SERVERS = ["honest", "malicious"];
const NUMBER = 9; // bytes of a number that is hashed
const PLAN_VERSION = 1n;

/** What the devices of a cohort agree on beside the offer. */
export interface AgreedRounds {
  readonly corrupted: Fraction; // of the devices of a cohort, at most
  readonly server: string;
  readonly graph: string;
  readonly smallest: bigint; // the least number of honest people that is counted on
  readonly attempts: bigint;
}

/** The same in an object of JSON, or a refusal. */
export function readRounds(given: object): AgreedRounds {
  const { corrupted, server, graph, smallest, attempts } = given as Record<string, unknown>;
  const part = typeof corrupted === "string" && PART_TEXT.test(corrupted) ? readPart(corrupted) : ONE;
  if (!ONE.exceeds(part)) {
    const allowed = "a fraction such as 1/10, at least 0 and below 1, of numbers with at most nine digits";
    throw refuseValue("corrupted of a place", corrupted, allowed);
  }
  if (!SERVERS.includes(server as string)) throw refuseValue("server of a place", server, SERVERS.join(" or "));
  if (!GRAPHS.includes(graph as string)) throw refuseValue("graph of a place", graph, GRAPHS.join(" or "));
  return {
    corrupted: part,
    server: server as string,
    graph: graph as string,
    smallest: readCount("smallest", smallest, LARGEST_SMALLEST),
    attempts: readCount("attempts", attempts, MOST_ATTEMPTS),
  };
}

const ONE = new Fraction(1n);

const readPart = (text: string): Fraction => Fraction.fromText(text.replace(/^[.]/, "0."));

function readCount(name: string, value: unknown, most: number): bigint {
  const right = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;
  if (!right) throw refuseValue(`${name} of a place`, value, `a whole number from 1 to ${most}`);
  return BigInt(value);
}

/** The parameters of a round of the devices 0, ..., n - 1, where so many honest ones are counted on. */
export interface RoundPlan {
  readonly n: bigint;
  readonly neighbours: bigint; // with whom a device shares its two seeds
  readonly threshold: bigint; // any so many of them can rebuild the seeds
  readonly least: bigint; // the sum is opened only if so many values are in it
  readonly modulus: bigint;
}

/** The plan that follows from the rules, or a refusal. */
export function planRound(rules: AgreedRounds, n: bigint, honest: bigint, modulus: bigint): RoundPlan {
  if (n > MOST_DEVICES) throw refuseValue("the number of devices of a cohort", n, `at most ${MOST_DEVICES}`);
  const { k, least: threshold } = findNeighbourhood(rules, n, honest);
  if (k > MOST_NEIGHBOURS) {
    const name = `the number of neighbours of a device in a cohort of ${n}`;
    throw refuseValue(name, k, `at most ${MOST_NEIGHBOURS}, whose key shares fit into one message`);
  }
  const least = honest + countCorrupted(rules, n);
  if (threshold >= least) throw refuseValue("least", least, `a whole number from ${threshold + 1n} to ${n}`);
  return { n, neighbours: k, threshold, least, modulus };
}

const countCorrupted = ({ corrupted }: AgreedRounds, n: bigint): bigint => (corrupted.over * n) / corrupted.under;

function findNeighbourhood(rules: AgreedRounds, n: bigint, honest: bigint): Neighbourhood {
  const corrupted = countCorrupted(rules, n);
  const name = `the number of honest users counted on in a cohort of ${n}`;
  if (honest < rules.smallest) throw refuseValue(name, honest, `at least ${rules.smallest}`);
  if (honest + corrupted > n) {
    throw refuseValue(name, honest, `at most ${n - corrupted}, as ${corrupted} may be corrupted`);
  }
  const lost = n - corrupted - honest;
  const whole = rules.graph === "complete" || (rules.graph === "auto" && n <= SMALL_COHORT);
  return whole ? completeGraph(n, corrupted, lost) : chooseNeighbours(n, corrupted, lost, MOST_NEIGHBOURS);
}

/** The name of a round: a hash of its plan, of the hash of the seed of its ring, and of what the attempt is called. */
export function nameRound({ n, neighbours, threshold, least, modulus }: RoundPlan, ring: Bytes, called: Bytes): Bytes {
  const hash = sha256.create().update(encodeText("maskedbandit round"));
  const take = (number: bigint): unknown => hash.update(writeWhole(number, NUMBER));
  for (const number of [PLAN_VERSION, n, neighbours, threshold, least, modulus, 0n]) take(number);
  for (let user = 0n; user < n; user += 1n) take(user);
  return new Uint8Array(hash.update(joinBytes(ring, called)).digest());
}

/** The name of a session: a hash of the round and of all keys, of which this is the commitment. */
export const nameSession = (round: Bytes, root: Bytes): Bytes =>
  hashBytes(encodeText("maskedbandit session"), round, root);
