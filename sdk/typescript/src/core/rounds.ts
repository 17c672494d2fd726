/** All that a place in a round of devices needs, and no other: imported when the first one comes. */
export { answerDue, readDue } from "./adding_up.js";
export { priceSummedPlace as pricePlace, toleratesCorrupted } from "./summed_places.js";
