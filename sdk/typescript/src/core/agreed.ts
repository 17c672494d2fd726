import { MaskedBanditError, refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import { priceLocalOffer } from "./offer_prices.js";
import { type PinnedOperators, isFingerprint } from "./operators.js";
import type { OwnPlace } from "./place.js";

const NOTHING = new Fraction(0n);
const ONE = new Fraction(1n);

/** What a person agreed to beside the epsilon. */
export interface AgreedTerms {
  /** Fingerprints of the leader's and the helper's keys, which come with the application; or local trust alone. */
  readonly operators?: PinnedOperators;
  /** The person takes part in cohorts of so many people at least. */
  readonly least?: number;
  /** Only noise whose epsilon bounds the loss whatever happens; false: discrete Gaussian noise as well. */
  readonly pure?: boolean;
  /** Above 0: also studies with a shuffler, where each place may break the promise with this probability. */
  readonly delta?: number | string;
  /** For applications that stay: rounds of devices, of whose cohort at least this part may be corrupted. */
  readonly corrupted?: number | string;
}

/** What all studies of a person together may cost, and for whom reports are sealed. */
export class Agreed {
  readonly epsilon: Fraction;
  readonly operators: PinnedOperators | null;
  readonly least: number;
  readonly pure: boolean;
  readonly delta: Fraction;
  readonly corrupted: Fraction | null;

  /** A number is the shortest decimal that prints as it does; a text may also be a fraction, as "1/3". */
  constructor(epsilon: number | string, terms: AgreedTerms = {}) {
    const { operators, least = 1, pure = true, delta = 0, corrupted } = terms;
    this.epsilon = readNumber("epsilon", epsilon, "a finite number above 0", (found) => found.exceeds(NOTHING));
    if (operators !== undefined && !arePinned(operators)) {
      const allowed = "two different fingerprints, each of 64 hexadecimal digits, or left out";
      throw refuseValue("operators", operators, allowed);
    }
    if (!Number.isInteger(least) || least < 1) throw refuseValue("least", least, "a whole number of at least 1");
    if (typeof pure !== "boolean") throw refuseValue("pure", pure, "true or false");
    this.delta = readNumber("delta", delta, "a probability from 0 on, below 1", isChance);
    const allowed = "a part of the devices of a cohort, at least 0 and below 1, or left out";
    this.corrupted = corrupted === undefined ? null : readNumber("corrupted", corrupted, allowed, isChance);
    this.operators = operators ?? null;
    this.least = least;
    this.pure = pure;
  }

  /**
   * Whether all operators of a place, if it has any, have the keys that came with the application. If devices add up,
   * whether as many of them may be corrupted as the application says now.
   */
  async trusts(place: OwnPlace): Promise<boolean> {
    if (place.rounds) {
      return this.corrupted !== null && (await import("./rounds.js")).toleratesCorrupted(place, this.corrupted);
    }
    if (!place.operators.length) return true;
    return this.operators !== null && (await loadSealing(place)).hasPinnedKeys(place, this.operators);
  }

  /** What a place costs, or a refusal unless it is what the person agreed to. */
  async check(place: OwnPlace): Promise<Fraction> {
    if (place.operators.length) {
      if (this.operators) return (await loadSealing(place)).pricePlace(place, this.operators, this);
      throw refuseValue("operators of a place", "given", "left out: none came with the application");
    }
    if (place.rounds) {
      const { corrupted, least } = this;
      if (corrupted) return (await import("./rounds.js")).pricePlace(place, { corrupted, least });
      const allowed = "left out: the application does not say which part of devices may be corrupted";
      throw refuseValue("rounds of a place", "given", allowed);
    }
    const prices = place.outcomes.map(({ offer, cap, metric }) =>
      priceLocalOffer(offer, this.least, cap, metric, this.pure),
    );
    return prices.reduce((sum, price) => sum.plus(price));
  }

  /** Refuse a place that costs so much where others have cost `spent`, unless that is within what was agreed. */
  checkCost(cost: Fraction, spent: Fraction): void {
    if (!spent.plus(cost).exceeds(this.epsilon)) return;
    const allowed = `${this.epsilon}, to which the person agreed, and other studies have cost ${spent}`;
    const message = `epsilon of an offer is ${cost}: together it must be at most ${allowed}`;
    throw new MaskedBanditError("budget_exceeded", message);
  }
}

const arePinned = (given: unknown): boolean =>
  Array.isArray(given) && given.length === 2 && given[0] !== given[1] && given.every(isFingerprint);

/** What seals is large: only a place that needs it loads it. */
const loadSealing = (place: OwnPlace) => (place.shuffled ? import("./shuffler.js") : import("./two_servers.js"));

const isChance = (found: Fraction): boolean => !NOTHING.exceeds(found) && ONE.exceeds(found);

/** An exact number; a number of JavaScript is the shortest decimal that prints as it does. */
function readNumber(name: string, given: unknown, allowed: string, fits: (found: Fraction) => boolean): Fraction {
  try {
    const found = Fraction.fromText(String(given));
    if (fits(found)) return found;
  } catch {
    // refused below
  }
  throw refuseValue(name, given, allowed);
}
