/**
 * What a service offers the people of a cohort, as a line of text on which all parties agree:
 *
 *     maskedbandit-offer-1 channel=Response n=100 steps=1 modulus=0 noise= terms=epsilon:1/2 position=7
 */
import { refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";

const LONGEST_OFFER = 2 ** 16; // characters of a text
const LARGEST_MODULUS = 2n ** 64n; // a modulus, and the number of people

const WHOLE = "[0-9]{1,20}";
const NUMBER = "-?[0-9]{1,4000}(?:/[0-9]{1,4000})?";
const NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}";
const TERM = `${NAME}:${NUMBER}`;
const TEXT = new RegExp(
  `^maskedbandit-offer-1 channel=(${NAME}) n=(${WHOLE}) steps=(${WHOLE}) modulus=(${WHOLE})` +
    ` noise=((?:${NAME}:${NUMBER}:${WHOLE})?) terms=((?:${TERM}(?:,${TERM})*)?) position=((?:${WHOLE})?)` +
    "(?: metric=([A-Za-z0-9][A-Za-z0-9_.-]{0,63}))?$",
);

/** The noise of a release: the noise shares of `least` people make a draw. With `least` 1 each adds a whole draw. */
export interface NoiseShare {
  readonly noise: string; // the name of its class
  readonly scale: Fraction; // of the draw, in steps
  readonly least: bigint;
}

/** The terms of a cohort, and the person's place in it. */
export interface Offer {
  readonly channel: string;
  readonly n: bigint; // people of the cohort
  readonly steps: bigint; // in one unit of reward
  readonly modulus: bigint; // of what devices send and of the sum; 0: they have none
  readonly noise: NoiseShare | null;
  readonly terms: ReadonlyMap<string, Fraction>; // what else the channel promises, sorted by name
  readonly position: bigint | null;
  readonly metric: string; // the name of the outcome; empty: the reward
}

/** One line; equal offers have equal lines. */
export function writeOffer(offer: Offer): string {
  const noise = offer.noise ? writeNoise(offer.noise) : "";
  const terms = Array.from(offer.terms, ([name, value]) => `${name}:${value}`).join(",");
  const head = `maskedbandit-offer-1 channel=${offer.channel} n=${offer.n} steps=${offer.steps}`;
  const text = `${head} modulus=${offer.modulus} noise=${noise} terms=${terms} position=${offer.position ?? ""}`;
  return offer.metric ? `${text} metric=${offer.metric}` : text;
}

const writeNoise = ({ noise, scale, least }: NoiseShare): string => `${noise}:${scale}:${least}`;

/** The offer in a line. Whoever sent it may have written anything: what its numbers would not write is refused. */
export function readOffer(text: unknown): Offer {
  const match = typeof text === "string" && text.length <= LONGEST_OFFER ? TEXT.exec(text) : null;
  const offer = match && readMatch(match);
  if (!offer || writeOffer(offer) !== text) {
    throw refuseValue("the text of an offer", text, "what a service of this version wrote");
  }
  return offer;
}

/** The offers in the lines of a text, one for each outcome. */
export function readOffers(text: unknown): Offer[] {
  if (typeof text !== "string" || text.length > LONGEST_OFFER) {
    throw refuseValue("the text of offers", text, `of at most ${LONGEST_OFFER} characters`);
  }
  return text.split("\n").map(readOffer);
}

function readMatch(match: RegExpExecArray): Offer | null {
  const [, channel = "", people = "", grid = "", residues = "", share, promised, place, metric = ""] = match;
  const [n, steps, modulus] = [BigInt(people), BigInt(grid), BigInt(residues)];
  const position = place ? BigInt(place) : null;
  const pairs = promised ? promised.split(",").map(readTerm) : [];
  const terms = new Map(pairs as [string, Fraction][]);
  const noise = share ? readNoise(share) : null;
  const right =
    [...terms.keys()].sort().join() === pairs.map(([name]) => name).join() &&
    pairs.every(([, value]) => value !== null) &&
    [n, steps, modulus].every((each) => each <= LARGEST_MODULUS) &&
    n >= 1n &&
    (position === null || position < n) &&
    (!share || (noise !== null && noise.scale.over > 0n && noise.least >= 1n && noise.least <= n));
  return right ? { channel, n, steps, modulus, noise, terms, position, metric } : null;
}

function readTerm(text: string): [string, Fraction | null] {
  const [name = "", value = ""] = text.split(":");
  return [name, readFraction(value)];
}

function readNoise(text: string): NoiseShare | null {
  const [noise = "", number = "", least = ""] = text.split(":");
  const scale = readFraction(number);
  return scale && { noise, scale, least: BigInt(least) };
}

/** Null if its denominator is 0. */
function readFraction(text: string): Fraction | null {
  const [over = "", under = "1"] = text.split("/");
  return BigInt(under) === 0n ? null : new Fraction(BigInt(over), BigInt(under));
}

/** Throw unless an offer, to whichever person, states what was promised. */
export function compareOffers(offer: Offer, promised: Offer): void {
  for (const name of ["channel", "n", "steps", "modulus"] as const) compare(name, offer[name], promised[name]);
  const [found, right] = [offer, promised].map(({ noise }) => noise && writeNoise(noise));
  compare("noise", found, right);
  for (const name of [...new Set([...offer.terms.keys(), ...promised.terms.keys()])].sort()) {
    compare(name, offer.terms.get(name)?.toString(), promised.terms.get(name)?.toString());
  }
}

function compare(name: string, found: unknown, right: unknown): void {
  if (found !== right) throw refuseValue(`${name} of an offer`, found ?? null, `${right ?? null}, as promised`);
}
