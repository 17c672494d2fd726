import type { Bytes } from "./bytes.js";

/** Two hexadecimal digits for each byte. */
export const writeHex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of a text of hexadecimal digits, two for each. */
export const readHex = (text: string): Bytes => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
