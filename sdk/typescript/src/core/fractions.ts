/** An exact number in lowest terms, the denominator above 0. */
export class Fraction {
  readonly over: bigint;
  readonly under: bigint;

  constructor(over: bigint, under = 1n) {
    if (under === 0n) throw new RangeError("a denominator is 0");
    const common = findDivisor(over < 0n ? -over : over, under < 0n ? -under : under) * (under < 0n ? -1n : 1n);
    this.over = over / common;
    this.under = under / common;
  }

  /** A fraction that was written as `3`, `-1/3` or, as people write numbers, `0.1`. */
  static fromText(text: string): Fraction {
    const match = /^(-?\d+)(?:\/(\d+)|\.(\d+))?$/.exec(text);
    if (!match) throw new SyntaxError(`a fraction such as 1/3, not ${JSON.stringify(text)}`);
    const [, over = "", under, decimals = ""] = match;
    if (under !== undefined) return new Fraction(BigInt(over), BigInt(under));
    return new Fraction(BigInt(over + decimals), 10n ** BigInt(decimals.length));
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.over * other.under + other.over * this.under, this.under * other.under);
  }

  minus(other: Fraction): Fraction {
    return new Fraction(this.over * other.under - other.over * this.under, this.under * other.under);
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.over * other.over, this.under * other.under);
  }

  by(other: Fraction): Fraction {
    return new Fraction(this.over * other.under, this.under * other.over);
  }

  exceeds(other: Fraction): boolean {
    return this.over * other.under > other.over * this.under;
  }

  equals(other: Fraction): boolean {
    return this.over === other.over && this.under === other.under;
  }

  toString(): string {
    return this.under === 1n ? `${this.over}` : `${this.over}/${this.under}`;
  }
}

function findDivisor(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a;
}
