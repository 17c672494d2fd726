import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, type KEM, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke";
import { type Bytes, joinBytes } from "./bytes.js";

/** Seals for the holder of a public key: HPKE in base mode, without associated data. */
export class Sealer {
  readonly #suite: CipherSuite;

  constructor(kem: () => KEM = KEM_DHKEM_X25519_HKDF_SHA256) {
    this.#suite = new CipherSuite(kem, KDF_HKDF_SHA256, AEAD_AES_128_GCM);
  }

  /** The encapsulated key and the ciphertext. */
  async seal(text: Bytes, key: Bytes, info: Bytes): Promise<Bytes> {
    const reader = await this.#suite.DeserializePublicKey(key);
    const { encapsulatedSecret, ciphertext } = await this.#suite.Seal(reader, text, { info });
    return joinBytes(new Uint8Array(encapsulatedSecret), new Uint8Array(ciphertext));
  }
}
