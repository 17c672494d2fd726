/** All that a place with a shuffler needs, and no other: imported when the first one comes, so that it is one file. */
export { priceMixedPlace as pricePlace } from "./mixed_places.js";
export { hasPinnedKeys } from "./pinned_keys.js";
export { sealBundleReport, showPass } from "./shuffled_reports.js";
