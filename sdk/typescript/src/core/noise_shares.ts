import type { Bits } from "./bits.js";
import { Fraction } from "./fractions.js";
import type { NoiseShare } from "./offers.js";
import { drawPolyas } from "./sampling.js";

/** A share of noise, of which so many as the offer counts on make one draw of discrete Laplace noise. */
export function drawNoiseShare({ scale, least }: NoiseShare, bits: Bits): bigint {
  const [shape, rate] = [new Fraction(1n, least), new Fraction(scale.under, scale.over)];
  const [plus, minus] = drawPolyas(2, shape, rate, bits);
  return plus! - minus!;
}
