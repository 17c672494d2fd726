import { checkSealing } from "./crypto.js";
import { MaskedBanditError, refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import { priceLocalOffer, priceSealedOffer } from "./offer_prices.js";
import { ROLES, computeFingerprint, isFingerprint } from "./operators.js";
import type { OwnOutcome } from "./outcomes.js";
import type { OwnPlace } from "./place.js";

/** What a person agreed to beside the epsilon. */
export interface AgreedTerms {
  /** Fingerprints of the leader's and the helper's keys, which come with the application. Left out: local trust alone. */
  readonly operators?: readonly [string, string];
  /** The person takes part in cohorts of so many people at least. */
  readonly least?: number;
  /** Only noise whose epsilon bounds the loss whatever happens; false: discrete Gaussian noise as well. */
  readonly pure?: boolean;
}

/** What all studies of a person together may cost, and for whom reports are sealed. */
export class Agreed {
  readonly epsilon: Fraction;
  readonly operators: readonly [string, string] | null;
  readonly least: number;
  readonly pure: boolean;

  /** A number is the shortest decimal that prints as it does; a text may also be a fraction, as "1/3". */
  constructor(epsilon: number | string, { operators, least = 1, pure = true }: AgreedTerms = {}) {
    this.epsilon = readEpsilon(epsilon);
    if (operators !== undefined && !arePinned(operators)) {
      throw refuseValue("operators", operators, "two different fingerprints, each of 64 hexadecimal digits, or left out");
    }
    if (!Number.isInteger(least) || least < 1) throw refuseValue("least", least, "a whole number of at least 1");
    if (typeof pure !== "boolean") throw refuseValue("pure", pure, "true or false");
    this.operators = operators ?? null;
    this.least = least;
    this.pure = pure;
  }

  /** Whether all operators of a place, if it has any, have the keys that came with the application. */
  async trusts(place: OwnPlace): Promise<boolean> {
    const found = await Promise.all(place.operators.map(computeFingerprint));
    return found.every((fingerprint, role) => fingerprint === this.operators?.[role]);
  }

  /** What a place costs, or a refusal unless it is what the person agreed to. */
  async check(place: OwnPlace): Promise<Fraction> {
    if (place.operators.length) return this.#checkSealed(place);
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

  async #checkSealed(place: OwnPlace): Promise<Fraction> {
    if (!this.operators) {
      throw refuseValue("operators of a place", "given", "left out: none came with the application");
    }
    for (const [role, operator] of place.operators.entries()) {
      const [found, pinned] = [await computeFingerprint(operator), this.operators[role]];
      const allowed = `those with the fingerprint ${pinned}, which came with the application`;
      if (found !== pinned) throw refuseValue(`keys of the ${ROLES[role]}`, found, allowed);
      await checkSealing(operator.seals);
    }
    const [{ offer, cap }, guardrail] = place.outcomes as [OwnOutcome, OwnOutcome?];
    if (guardrail) {
      throw refuseValue("guardrail of a place", guardrail.metric, "left out: two servers carry one reward");
    }
    return priceSealedOffer(offer, this.least, cap);
  }
}

const arePinned = (given: unknown): boolean =>
  Array.isArray(given) && given.length === 2 && given[0] !== given[1] && given.every(isFingerprint);

function readEpsilon(given: number | string): Fraction {
  const nothing = new Fraction(0n);
  let epsilon = nothing;
  try {
    epsilon = Fraction.fromText(String(given));
  } catch {
    // refused below
  }
  if (!epsilon.exceeds(nothing)) throw refuseValue("epsilon", given, "a finite number above 0");
  return epsilon;
}
