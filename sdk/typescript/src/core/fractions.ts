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

  /** A number that was written as `3`, `-1/3`, `0.1` or `1e-7`. */
  static fromText(text: string): Fraction {
    const match = /^(-?\d+)(?:\/(\d+)|(?:\.(\d+))?(?:e([+-]?\d{1,3}))?)$/.exec(text);
    if (!match) throw new SyntaxError(`a fraction such as 1/3, not ${JSON.stringify(text)}`);
    const [, over = "", under = "1", decimals = "", power = "0"] = match;
    const shift = BigInt(power) - BigInt(decimals.length);
    const whole = BigInt(over + decimals);
    const scale = 10n ** (shift < 0n ? -shift : shift);
    return shift < 0n ? new Fraction(whole, BigInt(under) * scale) : new Fraction(whole * scale, BigInt(under));
  }

  /** All of a finite floating-point number. */
  static fromNumber(value: number): Fraction {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    const bits = view.getBigUint64(0);
    const [power, digits] = [(bits >> 52n) & 2047n, bits & ((1n << 52n) - 1n)];
    const size = power ? digits + (1n << 52n) : digits;
    const shift = (power || 1n) - 1075n; // the number is size * 2^shift
    const whole = bits >> 63n ? -size : size;
    return shift < 0n ? new Fraction(whole, 1n << -shift) : new Fraction(whole << shift);
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

  toString(): string {
    return this.under === 1n ? `${this.over}` : `${this.over}/${this.under}`;
  }
}

/** a/b rounded up, for whole numbers that are not negative. */
export const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

function findDivisor(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a;
}
