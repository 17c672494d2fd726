import { refusePersonalValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import type { Offer } from "./offers.js";

/** What may be recorded of an outcome, and what is offered to whoever reports it. */
export class OwnOutcome {
  constructor(
    readonly metric: string, // the name of a further outcome; empty: the reward
    readonly offer: Offer, // with a position
    readonly least: number,
    readonly most: number,
    readonly fallback: number, // counts for somebody without an outcome: the default of the study
    readonly cap: number, // so many rewards of the person count: they are added up
  ) {}

  /** What holds once this is recorded: the newest outcome, or the sum of all where several rewards count. */
  addRecord(before: Fraction | null, value: unknown): Fraction {
    if (!isFiniteNumber(value) || value < this.least || value > this.most) {
      throw refusePersonalValue("outcome", `a number from ${this.least} to ${this.most}`);
    }
    const newest = Fraction.fromNumber(value);
    if (this.cap === 1) return newest;
    const sum = before ? before.plus(newest) : newest;
    return sum.exceeds(this.#most()) ? this.#most() : sum;
  }

  /** What holds as a number from 0 to 1, exactly; the default if nothing was recorded. */
  scaleOutcome(held: Fraction | null): Fraction {
    const least = Fraction.fromNumber(this.least);
    return (held ?? Fraction.fromNumber(this.fallback)).minus(least).by(this.#most().minus(least));
  }

  #most(): Fraction {
    return Fraction.fromNumber(this.most).times(Fraction.fromNumber(this.cap));
  }
}

/** Whether JSON could have this as a number. */
export const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);
