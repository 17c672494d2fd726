/** A place whose cohort adds up in a round of its devices, held to what the person agreed to. */
import { checkSealing } from "./crypto.js";
import { refuseValue } from "./errors.js";
import { Fraction } from "./fractions.js";
import { checkOfferedPerson, checkPromise, shareNoise } from "./offer_prices.js";
import type { OwnPlace } from "./place.js";
import { planRound, readRounds } from "./round_plan.js";

const MOST_ADDED = 2n ** 63n; // a modulus of devices that add up
const BASE_POINT = "09".padEnd(64, "0"); // a key of X25519 that every browser which has it can import

/** Whether as many devices of the cohort may be corrupted as the application says now. */
export const toleratesCorrupted = ({ rounds }: OwnPlace, corrupted: Fraction): boolean =>
  !corrupted.exceeds(readRounds(rounds!).corrupted);

/** What a place costs, for all attempts together, or a refusal. */
export async function priceSummedPlace(
  place: OwnPlace,
  { corrupted, least }: { readonly corrupted: Fraction; readonly least: number },
): Promise<Fraction> {
  const rules = readRounds(place.rounds!);
  if (corrupted.exceeds(rules.corrupted)) {
    throw refuseValue("corrupted of a place", rules.corrupted, `at least ${corrupted}, which the application names`);
  }
  if (rules.server !== "honest") {
    const allowed = "honest: nobody but the service could say whose the keys of devices are";
    throw refuseValue("server of a place", rules.server, allowed);
  }
  const further = place.outcomes[1];
  if (further) throw refuseValue("further outcome of a place", further.metric, "left out: a round carries one reward");
  const { offer } = place;
  const epsilon = checkOfferedPerson(offer, least, "", new Fraction(0n));
  const honest = offer.noise?.least ?? 0n;
  planRound(rules, offer.n, honest, offer.modulus);
  if (offer.n * offer.steps >= offer.modulus || offer.modulus > MOST_ADDED) {
    const allowed = `above ${offer.n * offer.steps}, so that sums fit, and at most ${MOST_ADDED}`;
    throw refuseValue("modulus of an offer", offer.modulus, allowed);
  }
  const noise = { ...shareNoise("DiscreteLaplace", offer.steps, epsilon), least: honest };
  checkPromise(offer, "Distributed", offer.steps, offer.modulus, noise, epsilon, place.outcomes[0]!.cap);
  await checkSealing(BASE_POINT);
  return epsilon.times(new Fraction(rules.attempts));
}
