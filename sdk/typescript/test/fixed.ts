import { createPrivateKey, createPublicKey } from "node:crypto";
import { type KEM, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke";
import { Sealer } from "../src/core/seals.js";
import type { Draw } from "../src/core/words.js";
import { fromHex } from "./vectors.js";

/** A source of bytes that gives these, in order. */
export function giveBytes(bytes: Uint8Array<ArrayBuffer>): Draw {
  let at = 0;
  return (count) => {
    if (at + count > bytes.length) throw new RangeError("no known bytes are left");
    at += count;
    return bytes.slice(at - count, at);
  };
}

const PKCS8 = "302e020100300506032b656e04220420"; // what stands before a private key of X25519

/** What seals with these ephemeral private keys, in order. */
export function fixSealer(...ephemeral: string[]): Sealer {
  const left = [...ephemeral];
  const GenerateKeyPair = () => importPair(left.shift()!);
  return new Sealer((): KEM => ({ ...KEM_DHKEM_X25519_HKDF_SHA256(), GenerateKeyPair }));
}

async function importPair(ephemeral: string): Promise<CryptoKeyPair> {
  const secret = createPrivateKey({ key: Buffer.from(PKCS8 + ephemeral, "hex"), format: "der", type: "pkcs8" });
  const open = new Uint8Array(createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-32));
  const { subtle } = crypto;
  return {
    privateKey: await subtle.importKey("pkcs8", fromHex(PKCS8 + ephemeral), "X25519", false, ["deriveBits"]),
    publicKey: await subtle.importKey("raw", open, "X25519", true, []),
  };
}
