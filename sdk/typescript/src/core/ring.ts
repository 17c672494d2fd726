/**
 * Which devices are neighbours in a round, and a commitment to the keys of all of which each can check a part: see
 * secagg/graph.py, which says what is proved of both.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, encodeText, joinBytes, writeWhole } from "./bytes.js";
import { MaskedBanditError } from "./errors.js";

export const HASH = 32; // bytes
const [RANK, LEAF, NODE, ROOT] = ["rank", "leaf", "node", "root"].map((use) =>
  encodeText(`maskedbandit secagg ${use} `),
) as [Bytes, Bytes, Bytes, Bytes];

/** The hash of all of this. */
export const hashBytes = (...parts: Bytes[]): Bytes => new Uint8Array(sha256(joinBytes(...parts)));

/** A number as eight bytes, as all that is hashed has it. */
export const writeUser = (user: number): Bytes => writeWhole(BigInt(user), 8);

/** The neighbours of one of n devices, in the order of a ring that everybody computes from the seed: the k nearest. */
export function findNeighbours(seed: Bytes, n: number, k: number, user: number): number[] {
  const order = orderUsers(seed, n);
  const position = order.indexOf(user);
  const near = (other: number): boolean => {
    const steps = Math.abs(other - position);
    return other !== position && (k >= n - 1 || Math.min(steps, n - steps) <= k / 2);
  };
  return [...order].filter((_, other) => near(other));
}

function orderUsers(seed: Bytes, n: number): Uint32Array {
  const begun = sha256.create().update(joinBytes(RANK, seed));
  const ranks = new Uint8Array(HASH * n);
  for (let user = 0; user < n; user++) ranks.set(begun.clone().update(writeUser(user)).digest(), HASH * user);
  return Uint32Array.from({ length: n }, (_, user) => user).sort((one, other) => {
    let at = 0;
    while (at < HASH - 1 && ranks[HASH * one + at] === ranks[HASH * other + at]) at++;
    return ranks[HASH * one + at]! - ranks[HASH * other + at]!;
  });
}

type Known = [position: number, hash: Bytes];

/** The root of n leaves, from some of them by position and the hashes of all subtrees without any, or a refusal. */
export function computeRoot(n: number, leaves: ReadonlyMap<number, Bytes>, proof: readonly Bytes[]): Bytes {
  const left = [...proof];
  let level = [...leaves].map(([position, leaf]): Known => [position, hashBytes(LEAF, leaf)]);
  level.sort(([one], [other]) => one - other);
  for (let size = n; size > 1; size = Math.ceil(size / 2)) level = climbTree(level, size, left);
  if (left.length) throw new MaskedBanditError("malformed", "a proof has too many hashes");
  return hashBytes(ROOT, writeUser(n), level[0]![1]);
}

/** The known hashes of the next level, from those of a level of this size. */
function climbTree(level: readonly Known[], size: number, proof: Bytes[]): Known[] {
  const above: Known[] = [];
  for (let at = 0; at < level.length; at++) {
    const [position, hash] = level[at]!;
    const partner = position ^ 1;
    if (partner >= size) {
      above.push([position >> 1, hash]); // the last of its level moves up unchanged
      continue;
    }
    const beside = level[at + 1]?.[0] === partner ? level[++at]![1] : proof.shift();
    if (!beside) throw new MaskedBanditError("malformed", "a proof has too few hashes");
    above.push([position >> 1, position & 1 ? hashBytes(NODE, beside, hash) : hashBytes(NODE, hash, beside)]);
  }
  return above;
}
