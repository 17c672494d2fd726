/** A person's device in a browser: see docs/javascript.md. */
export { Agreed } from "../core/agreed.js";
export { MaskedBanditError } from "../core/errors.js";
export type { ShownArm } from "./answered_arm.js";
export { Device, type DeviceOptions } from "./device.js";
export type { ShownReport, StudyOnDevice } from "./shown.js";
