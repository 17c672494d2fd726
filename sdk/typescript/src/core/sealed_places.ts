/** A place of two servers, held to what the person agreed to. */
import { refuseValue } from "./errors.js";
import { FIELD } from "./field.js";
import { Fraction } from "./fractions.js";
import { checkOfferedPerson, checkPromise, shareNoise } from "./offer_prices.js";
import type { Offer } from "./offers.js";
import type { PinnedOperators } from "./operators.js";
import { checkPinnedKeys } from "./pinned_keys.js";
import type { OwnPlace } from "./place.js";

/** What a place costs, or a refusal. */
export async function priceSealedPlace(
  place: OwnPlace,
  pinned: PinnedOperators,
  { least }: { readonly least: number },
): Promise<Fraction> {
  await checkPinnedKeys(place, pinned);
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
