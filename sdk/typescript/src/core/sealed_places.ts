/** A place of two operators, held to what the person agreed to.. */
import { checkSealing } from "./crypto.js";
import { computeFingerprint } from "./digests.js";
import { refuseValue } from "./errors.js";
import { FIELD } from "./field.js";
import { Fraction } from "./fractions.js";
import { checkOfferedPerson, checkPromise, shareNoise } from "./offer_prices.js";
import type { Offer } from "./offers.js";
import { type PinnedOperators, ROLES } from "./operators.js";
import type { OwnPlace } from "./place.js";

/** Whether both operators of a place have the keys that came with the application. */
export async function hasPinnedKeys(place: OwnPlace, pinned: PinnedOperators): Promise<boolean> {
  const found = await Promise.all(place.operators.map(computeFingerprint));
  return found.every((fingerprint, role) => fingerprint === pinned[role]);
}

/** What a place costs, or a refusal: of other keys, of a browser that cannot seal for them, or of the offer. */
export async function priceSealedPlace(place: OwnPlace, pinned: PinnedOperators, least: number): Promise<Fraction> {
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
  return priceSealedOffer(place.offer, least, place.outcomes[0]!.cap);
}

/** The epsilon of an offer of two servers with proofs, or a refusal: all other numbers follow from it. */
export function priceSealedOffer(offer: Offer, least: number, cap = 1): Fraction {
  const epsilon = checkOfferedPerson(offer, least, "", new Fraction(0n));
  const { n, steps } = offer;
  if (n * steps >= FIELD) {
    throw refuseValue("n of an offer", n, `such that sums of ${steps} steps each are below ${FIELD}`);
  }
  checkPromise(offer, "TwoServers", steps, FIELD, shareNoise("DiscreteLaplace", steps, epsilon), epsilon, cap);
  return epsilon;
}
