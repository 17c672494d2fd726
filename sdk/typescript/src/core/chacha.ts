/**
 * ChaCha20-Poly1305 (RFC 8439), with which devices seal key shares for each other: browsers do not have it. The texts
 * are a few bytes. How long it takes may depend on the numbers, which nobody but this device could measure.
 */
import { type Bytes, joinBytes } from "./bytes.js";

const BLOCK = 64; // bytes
const PIECE = 16; // of a text, as Poly1305 takes it
const DOUBLE_ROUNDS = 10;
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const; // "expand 32-byte k"
const COLUMNS = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] as const;
const DIAGONALS = [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] as const;
const PRIME = 2n ** 130n - 5n;
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn; // bits of the multiplier that may be set

/** The ciphertext and its tag. A key and a nonce are used once. */
export function sealBytes(key: Bytes, nonce: Bytes, text: Bytes, context: Bytes): Bytes {
  const hidden = hideBytes(key, nonce, text);
  return joinBytes(hidden, makeTag(key, nonce, hidden, context));
}

/** The text, or null if it was altered, or sealed with other keys or for another context. */
export function openBytes(key: Bytes, nonce: Bytes, sealed: Bytes, context: Bytes): Bytes | null {
  if (sealed.length < PIECE) return null;
  const [hidden, tag] = [sealed.slice(0, -PIECE), sealed.slice(-PIECE)];
  const right = makeTag(key, nonce, hidden, context);
  const differ = tag.reduce((found, byte, at) => found | (byte ^ right[at]!), 0);
  return differ ? null : hideBytes(key, nonce, hidden);
}

/** A text and the key stream from its second block on, each hidden by the other. */
function hideBytes(key: Bytes, nonce: Bytes, text: Bytes): Bytes {
  const hidden = text.slice();
  for (let at = 0; at < text.length; at += BLOCK) {
    makeBlock(key, nonce, 1 + at / BLOCK).forEach((byte, of) => (hidden[at + of]! ^= byte)); // beyond the end is none
  }
  return hidden;
}

function makeBlock(key: Bytes, nonce: Bytes, count: number): Bytes {
  const start = new DataView(new ArrayBuffer(BLOCK));
  CONSTANTS.forEach((word, at) => start.setUint32(4 * at, word, true));
  const all = new Uint8Array(start.buffer);
  all.set(key, 16);
  start.setUint32(48, count, true);
  all.set(nonce, 52);
  const words = Uint32Array.from({ length: 16 }, (_, at) => start.getUint32(4 * at, true));
  for (let round = 0; round < DOUBLE_ROUNDS; round++) {
    for (const [a, b, c, d] of [...COLUMNS, ...DIAGONALS]) {
      mixWords(words, a, b, d, 16);
      mixWords(words, c, d, b, 12);
      mixWords(words, a, b, d, 8);
      mixWords(words, c, d, b, 7);
    }
  }
  words.forEach((word, at) => start.setUint32(4 * at, word + start.getUint32(4 * at, true), true));
  return all;
}

/** a += b, and c, to which the sum is added bit by bit, is turned. */
function mixWords(words: Uint32Array, a: number, b: number, c: number, turn: number): void {
  words[a]! += words[b]!;
  const mixed = words[c]! ^ words[a]!;
  words[c] = (mixed << turn) | (mixed >>> (32 - turn));
}

/** Poly1305 of the context and the ciphertext, each filled up to whole pieces, and their lengths. */
function makeTag(key: Bytes, nonce: Bytes, hidden: Bytes, context: Bytes): Bytes {
  const once = makeBlock(key, nonce, 0);
  const [multiplier, last] = [readLittle(once.slice(0, 16)) & CLAMP, readLittle(once.slice(16, 32))];
  const lengths = new DataView(new ArrayBuffer(PIECE));
  lengths.setUint32(0, context.length, true);
  lengths.setUint32(8, hidden.length, true);
  const text = joinBytes(fillUp(context), fillUp(hidden), new Uint8Array(lengths.buffer));
  let sum = 0n;
  for (let at = 0; at < text.length; at += PIECE) {
    sum = ((sum + readLittle(text.slice(at, at + PIECE)) + (1n << 128n)) * multiplier) % PRIME;
  }
  const tag = new DataView(new ArrayBuffer(PIECE));
  tag.setBigUint64(0, sum + last, true);
  tag.setBigUint64(8, (sum + last) >> 64n, true);
  return new Uint8Array(tag.buffer);
}

const fillUp = (bytes: Bytes): Bytes => joinBytes(bytes, new Uint8Array(-bytes.length & (PIECE - 1)));

/** The least significant byte first. */
const readLittle = (bytes: Bytes): bigint => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
