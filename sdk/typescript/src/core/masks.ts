/** Keys, masks and seals that two devices have in common: the same bytes as those of secagg/masks.py. */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, encodeText, joinBytes } from "./bytes.js";
import { openBytes, sealBytes } from "./chacha.js";
import { MaskedBanditError } from "./errors.js";
import { readHex, writeHex } from "./hex.js";
import { hashBytes, writeUser } from "./ring.js";

export const SEED = 16; // bytes of a seed
export const KEY = 32; // bytes of a key, of a session and of a hash
const MASK = 32; // bytes of a mask, before it is taken modulo the modulus
const PKCS8 = readHex("302e020100300506032b656e04220420"); // what stands before a private key of X25519
const BASE = Uint8Array.from({ length: KEY }, (_, at) => (at ? 0 : 9)); // what public keys are made of
const COMMITMENT = encodeText("maskedbandit own mask");
const SHARES = encodeText("maskedbandit key shares");

/** A whole number, the most significant byte first. */
export const readWhole = (bytes: Bytes): bigint => BigInt(`0x${writeHex(bytes)}`);

/** So many bytes for one purpose in one session. */
export const deriveKey = (secret: Bytes, session: Bytes, purpose: Bytes): Bytes =>
  new Uint8Array(hkdf(sha256, secret, session, purpose, KEY));

/** A residue for one purpose in one session, which nobody without the secret tells from a uniform one. */
export const deriveMask = (secret: Bytes, session: Bytes, purpose: Bytes, modulus: bigint): bigint =>
  readWhole(new Uint8Array(hkdf(sha256, secret, session, purpose, MASK))) % modulus;

/** The mask that hides a device even if all its pair masks are known. */
export const deriveOwnMask = (seed: Bytes, session: Bytes, user: number, modulus: bigint): bigint =>
  deriveMask(seed, session, joinBytes(encodeText("own"), writeUser(user)), modulus);

/** What a device adds to its value: the mask if it has the smaller number, else minus the mask. The pair cancels. */
export function derivePairMask(
  secret: Bytes,
  session: Bytes,
  user: number,
  other: number,
  modulus: bigint,
): bigint {
  const mask = deriveMask(secret, session, namePair("pair", user, other), modulus);
  return user < other ? mask : -mask;
}

/** A purpose in which two devices are named, the same for both. */
export const namePair = (purpose: string, user: number, other: number): Bytes =>
  joinBytes(encodeText(purpose), writeUser(Math.min(user, other)), writeUser(Math.max(user, other)));

/** A hash by which the service checks a seed that it put together. */
export const commitSeed = (seed: Bytes, session: Bytes, user: number): Bytes =>
  hashBytes(COMMITMENT, session, writeUser(user), seed);

/** A private key of X25519, and its public key. */
export interface KeyPair {
  readonly secret: CryptoKey;
  readonly open: Bytes;
}

/** The keys that a seed gives. */
export async function makeKeyPair(seed: Bytes, session: Bytes, purpose: string): Promise<KeyPair> {
  const bytes = joinBytes(PKCS8, deriveKey(seed, session, encodeText(purpose)));
  const secret = await crypto.subtle.importKey("pkcs8", bytes, "X25519", false, ["deriveBits"]);
  return { secret, open: await agreeSecret(secret, BASE) };
}

/** The secret that two key pairs agree on; public keys that would make it a constant are refused. */
export async function agreeSecret(secret: CryptoKey, open: Bytes): Promise<Bytes> {
  try {
    const key = await crypto.subtle.importKey("raw", open, "X25519", false, []);
    const found = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: key }, secret, 8 * KEY));
    if (found.some((byte) => byte)) return found;
  } catch {
    // refused below
  }
  throw new MaskedBanditError("forged", "another user's public key is not a valid X25519 key");
}

/** What a device seals for another one, once in a session. */
export const sealShares = (key: Bytes, sender: number, receiver: number, session: Bytes, text: Bytes): Bytes =>
  sealBytes(key, makeNonce(sender), text, nameParcel(sender, receiver, session));

/** What a device sealed for another one in a session, or null if it was altered. */
export const openShares = (key: Bytes, sender: number, receiver: number, session: Bytes, sealed: Bytes): Bytes | null =>
  openBytes(key, makeNonce(sender), sealed, nameParcel(sender, receiver, session));

const makeNonce = (sender: number): Bytes => joinBytes(writeUser(sender), new Uint8Array(4));

const nameParcel = (sender: number, receiver: number, session: Bytes): Bytes =>
  joinBytes(SHARES, session, writeUser(sender), writeUser(receiver));
