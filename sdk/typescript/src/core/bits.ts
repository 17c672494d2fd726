import { refuseValue } from "./errors.js";
import { type Draw, Words, drawBytes } from "./words.js";

const SPAN = 1n << 64n; // a word is uniform on 0, ..., SPAN - 1

/** Uniform integers from random bytes. Draws repeat only if the caller's own `draw` does. */
export class Bits {
  readonly #words: Words;

  constructor(draw: Draw = drawBytes) {
    this.#words = new Words(draw);
  }

  /**
   * One of 0, ..., n - 1, each with probability 1/n.
   *
   * Of all numbers only those below the largest multiple of n are kept: there, the rest of the division is uniform.
   */
  below(n: bigint): bigint {
    if (typeof n !== "bigint" || n < 1n) throw refuseValue("n", n, "an integer of at least 1");
    let span = SPAN;
    while (n > SPAN && span <= n) span *= SPAN;
    for (;;) {
      let number = this.#words.take();
      for (let size = SPAN; size < span; size *= SPAN) number = number * SPAN + this.#words.take();
      const rest = number % n;
      if (number - rest <= span - n) return rest;
    }
  }
}
