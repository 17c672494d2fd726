/** All that a place of two servers needs, and no other: imported when the first one comes, so that it is one file. */
export { hasPinnedKeys } from "./pinned_keys.js";
export { priceSealedPlace as pricePlace } from "./sealed_places.js";
export { sealUpload } from "./sealing.js";
