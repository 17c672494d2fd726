/** Person tokens: an application's backend says with them who somebody is, to a service that trusts no page. */

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";

import { refusePersonalValue, refuseValue } from "../core/errors.js";
import { isName } from "./answers.js";
import { isPrintable } from "./engine.js";

const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex"); // of a private key of Ed25519
const LAST_SECOND = 10 ** 11; // whoever gives milliseconds is noticed

/** The token of a person, which the service takes until `expires`, in seconds since 1970, at most 30 days ahead. */
export function signPerson(privateHex: string, study: string, unit: string, expires: number): string {
  if (typeof privateHex !== "string" || !/^[0-9a-fA-F]{64}$/.test(privateHex)) {
    throw refuseValue("privateHex", "not shown", "a private key of Ed25519 in hexadecimal, 64 digits");
  }
  if (!isName(study)) throw refuseValue("study", study, "the name of a study, of letters, digits, '_', '.' and '-'");
  if (!isPrintable(unit, 256) || unit === "") {
    throw refusePersonalValue("unit", "a string of 1 to 256 printable characters");
  }
  if (!Number.isInteger(expires) || expires < 0 || expires > LAST_SECOND) {
    throw refuseValue("expires", expires, "whole seconds since 1970");
  }
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, Buffer.from(privateHex, "hex")]),
    format: "der",
    type: "pkcs8",
  });
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  const keyId = createHash("sha256").update(publicKey).digest("hex").slice(0, 16);
  const text = Buffer.from(`maskedbandit-person-1 ${study} ${expires} ${unit}`);
  return `${keyId}.${expires}.${sign(null, text, key).toString("hex")}`;
}
