/** The service from an application's backend: who gets which arm, and what became of it. See docs/client.md. */

export { MaskedBanditError } from "../core/errors.js";
export { Assigned, type DevicePlace, type Refusal } from "./answers.js";
export { Client, type ClientOptions } from "./client.js";
export { signPerson } from "./tokens.js";
