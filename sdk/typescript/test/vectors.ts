import { readFileSync } from "node:fs";

/** A file of known answers, which Python wrote. */
export function readVectors(name: string): any {
  return JSON.parse(readFileSync(new URL(`../../../vectors/${name}.json`, import.meta.url), "utf8"));
}

export const fromHex = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, "hex"));

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
