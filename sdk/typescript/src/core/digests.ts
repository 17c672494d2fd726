/** What all parties of a study agree on, as digests of 32 bytes. */
import { type Bytes, encodeText, joinBytes } from "./bytes.js";
import { digestBytes } from "./crypto.js";
import { readHex, writeHex } from "./hex.js";
import { type Offer, writeOffer } from "./offers.js";
import type { HandedOperator } from "./operators.js";

/** What a protocol and the devices know an operator by, in hexadecimal. */
export async function computeFingerprint({ seals, signs }: Pick<HandedOperator, "seals" | "signs">): Promise<string> {
  const use = encodeText("maskedbandit operator 1");
  return writeHex(await digestBytes(joinBytes(use, readHex(seals), readHex(signs))));
}

/** A hash of an offer's text without the position. */
export const digestOffer = (offer: Offer): Promise<Bytes> =>
  digestBytes(encodeText(writeOffer({ ...offer, position: null })));
