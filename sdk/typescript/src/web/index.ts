export { MaskedBanditError } from "../core/errors.js";
