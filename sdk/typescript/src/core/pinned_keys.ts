/** Operators of a place, held to the keys that came with the application. */
import { checkSealing } from "./crypto.js";
import { computeFingerprint } from "./digests.js";
import { refuseValue } from "./errors.js";
import { type PinnedOperators, ROLES } from "./operators.js";
import type { OwnPlace } from "./place.js";

/** Whether both operators of a place have the keys that came with the application. */
export async function hasPinnedKeys(place: OwnPlace, pinned: PinnedOperators): Promise<boolean> {
  const found = await Promise.all(place.operators.map(computeFingerprint));
  return found.every((fingerprint, role) => fingerprint === pinned[role]);
}

/** Refuse other keys, a browser that cannot seal for them, and more than one outcome. */
export async function checkPinnedKeys(place: OwnPlace, pinned: PinnedOperators): Promise<void> {
  for (const [role, operator] of place.operators.entries()) {
    const found = await computeFingerprint(operator);
    const allowed = `those with the fingerprint ${pinned[role]}, which came with the application`;
    if (found !== pinned[role]) throw refuseValue(`keys of the ${ROLES[role]}`, found, allowed);
    await checkSealing(operator.seals);
  }
  const further = place.outcomes[1];
  if (further) {
    throw refuseValue("further outcome of a place", further.metric, "left out: two servers carry one reward");
  }
}
