import { MaskedBanditError, refuseValue } from "../core/errors.js";
import { type Reply, refuseReply } from "./calls.js";

/** What the person gets. */
export interface ShownArm {
  arm: string;
  payload: unknown; // what the application is given with it
  /**
   * Why nothing is reported of it: elsewhere, no_place, not_eligible, other_study, not_yet, finished, budget_exceeded,
   * or what ended it; else empty.
   */
  why: string;
}

/** What the service answered a device that asks for an arm; or what it refuses, or that this is no answer of it. */
export function readAnsweredArm(reply: Reply, study: string): { shown: ShownArm; place: object | null } {
  const { arm, payload = null, ticket, device, why } = reply.body;
  if (reply.status !== 200 || reply.body.study !== study || typeof arm !== "string" || !arm) throw refuseReply(reply);
  if (ticket === null) {
    return { shown: { arm, payload, why: typeof why === "string" ? why : "no_place" }, place: null };
  }
  if (device === null) {
    const allowed = "local, or that of two operators: under central trust the application's backend reports";
    throw refuseValue("trust of the study", "central", allowed);
  }
  const place = { ...(device as Record<string, unknown>), payload };
  if (["study", "arm", "ticket"].some((name) => (place as Record<string, unknown>)[name] !== reply.body[name])) {
    throw new MaskedBanditError("unreachable", "the service answered with a place of somebody else");
  }
  return { shown: { arm, payload, why: "" }, place };
}
