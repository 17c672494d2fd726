/**
 * A device in one round, as a state machine that answers the service's messages: that of secagg/client.py, in rounds
 * which nobody signs.
 *
 *     it receives                          it sends
 *     nothing                              ADVERT: two fresh public keys, to seal key shares and for pair masks
 *     ROSTER: its neighbours' keys         PARCELS: key shares of two seeds, of its own mask and of its mask key
 *     POST: its neighbours' key shares     MASKED: its value + its own mask + its pair masks
 *     SURVIVORS: whose values are summed   KEY_SHARES: of each survivor's own mask, of each lost one's mask key
 *
 * **Guarantee**: that of the client in Python, as both send the same bytes. Of a neighbour's two seeds a client reveals
 * a key share of one, once, and only for a list of as many survivors as the plan says. Anything unexpected ends the
 * round for this client.
 */
import type { Bits } from "./bits.js";
import { type Bytes, joinBytes, writeWhole } from "./bytes.js";
import { MaskedBanditError } from "./errors.js";
import {
  KEY, type KeyPair, SEED, agreeSecret, commitSeed, deriveKey, deriveOwnMask, derivePairMask, makeKeyPair, namePair,
  openShares, readWhole, sealShares,
} from "./masks.js";
import { HASH, computeRoot, findNeighbours, hashBytes, writeUser } from "./ring.js";
import {
  ADVERT, KEY_SHARES, MASKED, MessageReader, PARCELS, POST, ROSTER, SURVIVORS, areEqual, packMessage, refuseTurn,
} from "./round_messages.js";
import { type RoundPlan, nameRound, nameSession } from "./round_plan.js";
import { splitSecret } from "./shamir.js";

const KEY_SHARE = 17; // bytes
const PARCEL = 2 * KEY_SHARE + 16;
const VALUE = 8; // bytes of a masked value
const RING = new TextEncoder().encode("maskedbandit ring");
const INVALID = new Uint8Array(2 * KEY_SHARE).fill(255); // two numbers above all key shares

/** What a client knows about a neighbour that came. */
interface Neighbour {
  readonly user: number;
  readonly maskKey: Bytes; // public
  readonly channel: Bytes; // the secret key of what both seal for each other
  keyShares: Bytes | null; // those for this client, of both seeds; null: it sent none
}

/** One device in one round. The value is below the modulus and already includes the device's noise. */
export class RoundClient {
  readonly #plan: RoundPlan;
  readonly #user: number;
  readonly #n: number;
  readonly #value: bigint;
  readonly #bits: Bits;
  readonly #ring: Bytes; // the hash of the seed of the ring
  readonly #round: Bytes;
  #next: (message: Bytes) => Promise<Bytes>;
  #seeds: [Bytes, Bytes] = [new Uint8Array(0), new Uint8Array(0)]; // of its own mask, and of its mask key
  #keys: [KeyPair, KeyPair] | null = null; // to seal, and to mask
  #session: Bytes = new Uint8Array(0);
  #neighbours: number[] = [];
  #around: Neighbour[] = [];

  constructor(plan: RoundPlan, ring: Bytes, called: Bytes, user: number, value: bigint, bits: Bits) {
    this.#plan = plan;
    this.#ring = ring;
    this.#round = nameRound(plan, ring, called);
    this.#user = user;
    this.#n = Number(plan.n);
    this.#value = value;
    this.#bits = bits;
    this.#next = this.#start;
  }

  /** The answer to a message of the service, or a refusal, after which all others are refused. */
  async receive(message: Bytes): Promise<Bytes> {
    const answer = this.#next;
    this.#next = this.#refuse;
    return answer.call(this, message); // it sets what is due next
  }

  async #refuse(): Promise<Bytes> {
    throw refuseTurn("this device has left the round");
  }

  async #start(message: Bytes): Promise<Bytes> {
    if (message.length) throw refuseTurn("a message came before the keys were sent");
    this.#seeds = [this.#draw(SEED), this.#draw(SEED)];
    const seal = await makeKeyPair(this.#draw(KEY), this.#round, "seal");
    this.#keys = [seal, await makeKeyPair(this.#seeds[1], this.#round, "mask")];
    this.#next = this.#share;
    return packMessage(ADVERT, this.#round, ...this.#publicKeys());
  }

  #draw(size: number): Bytes {
    return writeWhole(this.#bits.below(1n << BigInt(8 * size)), size);
  }

  #publicKeys(): [Bytes, Bytes] {
    return [this.#keys![0].open, this.#keys![1].open];
  }

  /** Check the keys of the neighbours, and share both seeds among them. */
  async #share(message: Bytes): Promise<Bytes> {
    const { neighbours, threshold } = this.#plan;
    const reader = new MessageReader(message, ROSTER, this.#round);
    const [seed, root] = [reader.take(KEY), reader.take(KEY)];
    if (!areEqual(hashBytes(seed), this.#ring)) throw refuseChange("the seed of the ring is not the announced one");
    this.#neighbours = findNeighbours(hashBytes(RING, seed, root), this.#n, Number(neighbours), this.#user);
    const came = reader.flags(this.#neighbours.length);
    const leaves = new Map(this.#neighbours.map((other) => [other, writeUser(other)]));
    const here = this.#neighbours.filter((_, at) => came[at]);
    const keys = here.map(() => reader.take(2 * KEY));
    here.forEach((other, at) => leaves.set(other, joinBytes(writeUser(other), keys[at]!)));
    leaves.set(this.#user, joinBytes(writeUser(this.#user), ...this.#publicKeys()));
    if (!areEqual(computeRoot(this.#n, leaves, reader.pieces(HASH)), root)) {
      throw refuseChange("the keys do not fit their root: the service changed some, or this device's own");
    }
    checkEnough("neighbours came", here.length, threshold);
    this.#session = nameSession(this.#round, root);
    this.#around = await this.#meetNeighbours(here, keys);
    const points = came.flatMap((flag, at) => (flag ? [BigInt(1 + at)] : []));
    const [ofOwn, ofKey] = this.#seeds.map((each) => splitSecret(readWhole(each), threshold, points, this.#bits));
    const parcels = this.#around.map(({ user, channel }, at) => {
      const text = joinBytes(writeWhole(ofOwn![at]!, KEY_SHARE), writeWhole(ofKey![at]!, KEY_SHARE));
      return sealShares(channel, this.#user, user, this.#session, text);
    });
    this.#next = this.#hide;
    const commitment = commitSeed(this.#seeds[0], this.#session, this.#user);
    return packMessage(PARCELS, this.#session, commitment, ...parcels);
  }

  /** Agree on a secret with each neighbour that came. No two public keys may be the same. */
  async #meetNeighbours(here: readonly number[], keys: readonly Bytes[]): Promise<Neighbour[]> {
    const seal = this.#keys![0].secret;
    const agreed = new Set<string>();
    for (const key of this.#publicKeys()) agreed.add(`${await agreeSecret(seal, key)}`);
    const met: Neighbour[] = [];
    for (const [at, user] of here.entries()) {
      const [sealKey, maskKey] = [keys[at]!.slice(0, KEY), keys[at]!.slice(KEY)];
      const secret = await agreeSecret(seal, sealKey);
      agreed.add(`${secret}`).add(`${await agreeSecret(seal, maskKey)}`);
      const channel = deriveKey(secret, this.#session, namePair("seal", this.#user, user));
      met.push({ user, maskKey, channel, keyShares: null });
    }
    if (agreed.size < 2 * here.length + 2) throw refuseChange("two public keys are equal");
    return met;
  }

  /** Open the neighbours' key shares, then mask the value. */
  async #hide(message: Bytes): Promise<Bytes> {
    const { threshold, modulus } = this.#plan;
    const reader = new MessageReader(message, POST, this.#session);
    const flags = reader.flags(this.#around.length);
    const senders = this.#around.filter((_, at) => flags[at]);
    const sealed = reader.pieces(PARCEL, senders.length);
    checkEnough("neighbours shared their secrets", senders.length, threshold);
    let masked = this.#value + deriveOwnMask(this.#seeds[0], this.#session, this.#user, modulus);
    let opened = 0;
    for (const [at, other] of senders.entries()) {
      const found = openShares(other.channel, other.user, this.#user, this.#session, sealed[at]!);
      if (found) opened += 1;
      other.keyShares = found ?? INVALID; // it sent nonsense; if this device left, it could choose who drops out
      const secret = await agreeSecret(this.#keys![1].secret, other.maskKey);
      masked += derivePairMask(secret, this.#session, this.#user, other.user, modulus);
    }
    checkEnough("neighbours sealed their key shares well", opened, threshold);
    this.#next = this.#reveal;
    const residue = ((masked % modulus) + modulus) % modulus;
    return packMessage(MASKED, this.#session, writeWhole(residue, VALUE));
  }

  /** Check the list of survivors, as far as this device can, and reveal a key share of each neighbour's one seed. */
  async #reveal(message: Bytes): Promise<Bytes> {
    const reader = new MessageReader(message, SURVIVORS, this.#session);
    const survived = reader.flags(this.#n);
    reader.pieces(1, 0);
    if (!survived[this.#user]) throw refuseChange("this device sent its value and is said to be lost");
    checkEnough("values are in the sum", survived.filter((flag) => flag).length, this.#plan.least);
    const near = this.#neighbours.filter((other) => survived[other]);
    checkEnough("neighbours are said to have survived", near.length, this.#plan.threshold);
    const shared = this.#around.filter(({ keyShares }) => keyShares);
    const present = new Set(shared.map(({ user }) => user));
    if (!near.every((other) => present.has(other))) {
      throw refuseChange("a neighbour is said to have survived that sent no key shares");
    }
    const revealed = shared.map(({ user, keyShares }) =>
      survived[user] ? keyShares!.slice(0, KEY_SHARE) : keyShares!.slice(KEY_SHARE),
    );
    return packMessage(KEY_SHARES, this.#session, ...revealed);
  }
}

function checkEnough(what: string, found: number, needed: bigint): void {
  if (BigInt(found) >= needed) return;
  throw new MaskedBanditError("too_few", `${found} ${what}: at least ${needed} must be`);
}

const refuseChange = (why: string): MaskedBanditError => new MaskedBanditError("disagreement", why);
