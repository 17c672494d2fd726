import type { Bytes } from "./bytes.js";

/** Gives so many random bytes. */
export type Draw = (count: number) => Bytes;

/** Random bytes of the system, at most 65,536. */
export const drawBytes: Draw = (count) => crypto.getRandomValues(new Uint8Array(count));

const PAGE_WORDS = 512;
const WORD_BYTES = 8;

/** Uniform words of 64 bits, from pages of random bytes; the last word of a page is taken first, and none twice. */
export class Words {
  #page = new DataView(new ArrayBuffer(0));
  #left = 0;
  readonly #draw: Draw;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  take(): bigint {
    if (this.#left === 0) {
      const bytes = this.#draw(PAGE_WORDS * WORD_BYTES);
      this.#page = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#left = PAGE_WORDS;
    }
    this.#left -= 1;
    return this.#page.getBigUint64(WORD_BYTES * this.#left, true);
  }
}
