/** The messages of a round, as bytes of fixed widths: see secagg/messages.py. */
import { type Bytes, joinBytes } from "./bytes.js";
import { MaskedBanditError } from "./errors.js";
import { KEY } from "./masks.js";

export const VERSION = 1;
export const [ADVERT, ROSTER, PARCELS, POST, MASKED, SURVIVORS, KEY_SHARES] = [1, 2, 3, 4, 5, 6, 9] as const;
const KINDS = 9;
const HEAD = 2 + KEY; // bytes before what a message says

/** A message. */
export const packMessage = (kind: number, session: Bytes, ...parts: Bytes[]): Bytes =>
  joinBytes(Uint8Array.of(VERSION, kind), session, ...parts);

/** What a message says, after its head. */
export const readBody = (message: Bytes): Bytes => message.slice(HEAD);

/** A message of the kind that is due and of this session, read from the start; any other is refused. */
export class MessageReader {
  readonly #message: Bytes;
  #at = HEAD;

  constructor(message: Bytes, kind: number, session: Bytes) {
    const [version, found = 0] = message;
    if (message.length < HEAD || found < 1 || found > KINDS) throw refuseMessage("has no kind or no session");
    if (version !== VERSION) throw refuseMessage(`is of version ${version}: it must be ${VERSION}`);
    if (found !== kind) throw refuseTurn("a message of another kind is due");
    if (!areEqual(message.slice(2, HEAD), session)) throw refuseTurn("a message belongs to another session");
    this.#message = message;
  }

  /** The next bytes. */
  take(count: number): Bytes {
    this.#at += count;
    if (this.#at > this.#message.length) throw refuseMessage("is too short");
    return this.#message.slice(this.#at - count, this.#at);
  }

  /** The next n bits; the first one is the lowest bit of the first byte. */
  flags(n: number): boolean[] {
    const bits = [...this.take(Math.ceil(n / 8))].flatMap((byte) => BITS.map((bit) => ((byte >> bit) & 1) === 1));
    if (bits.slice(n).includes(true)) throw refuseMessage("has bits for users that do not exist");
    return bits.slice(0, n);
  }

  /** The rest of the message, in pieces of one width: so many of them, or as many as there are. */
  pieces(width: number, count?: number): Bytes[] {
    const left = this.#message.length - this.#at;
    const wrong = left % width || (count !== undefined && left !== width * count);
    if (wrong) throw refuseMessage("is too short or too long");
    return Array.from({ length: left / width }, () => this.take(width));
  }
}

const BITS = [0, 1, 2, 3, 4, 5, 6, 7] as const;

/** Whether both are the same bytes. */
export const areEqual = (one: Bytes, other: Bytes): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

/** What came where something else is due. */
export const refuseTurn = (why: string): MaskedBanditError => new MaskedBanditError("out_of_turn", why);

const refuseMessage = (why: string): MaskedBanditError => new MaskedBanditError("malformed", `a message ${why}`);
