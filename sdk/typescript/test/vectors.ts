import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of known answers, which Python wrote. */
export const VECTORS = join(import.meta.dirname, "../../../vectors");

/** A file of it. */
export const readVectors = (name: string): any => JSON.parse(readFileSync(join(VECTORS, `${name}.json`), "utf8"));

export const fromHex = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, "hex"));

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
