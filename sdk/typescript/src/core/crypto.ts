/** What is used of the browser's own cryptography, and a refusal where it is missing. */
import type { Bytes } from "./bytes.js";
import { MaskedBanditError } from "./errors.js";
import { readHex } from "./hex.js";

/** SHA-256. */
export async function digestBytes(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await findCrypto().digest("SHA-256", bytes));
}

/** Refuse a browser that cannot seal for a key of X25519: those from before 2025. */
export async function checkSealing(key: string): Promise<void> {
  try {
    await findCrypto().importKey("raw", readHex(key), "X25519", false, []);
  } catch (wrong) {
    if ((wrong as Error).name !== "NotSupportedError") throw wrong;
    throw new MaskedBanditError("not_supported", "reports cannot be sealed here: this browser has no X25519");
  }
}

/** Pages that came over http, but for those of localhost, have none. */
function findCrypto(): SubtleCrypto {
  const { subtle } = globalThis.crypto as { subtle?: SubtleCrypto };
  if (subtle) return subtle;
  throw new MaskedBanditError("not_supported", "reports cannot be sealed here: this page must come over https");
}
