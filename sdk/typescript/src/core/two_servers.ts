/** All that a place of two operators needs, and no other: imported when the first one comes, so that it is one file. */
export { hasPinnedKeys, priceSealedPlace } from "./sealed_places.js";
export { sealUpload } from "./sealing.js";
