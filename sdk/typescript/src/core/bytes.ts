/** Bytes that belong to nobody else. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** The UTF-8 bytes of a text. */
export const encodeText = (text: string): Bytes => new TextEncoder().encode(text);

/** The base64 of bytes with - and _, as URLs have it, with its padding. */
export const writeBase64 = (bytes: Bytes): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_");

/** All parts in one. */
export function joinBytes(...parts: Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A whole number as so many bytes, the most significant first. */
export function writeWhole(number: bigint, size: number): Bytes {
  const bytes = new Uint8Array(size);
  for (let at = size - 1; at >= 0; at--, number >>= 8n) bytes[at] = Number(number & 255n);
  return bytes;
}
