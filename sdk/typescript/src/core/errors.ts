/** Anything that this package refuses on purpose; `code` is for programs, as in Python. */
export class MaskedBanditError extends Error {
  override readonly name = "MaskedBanditError";

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A value is not allowed: the message says which one, and what is allowed. */
export function refuseValue(name: string, value: unknown, allowed: string): MaskedBanditError {
  return new MaskedBanditError("invalid_value", `${name} is ${showValue(value)}: it must be ${allowed}`);
}

/** A value about a person is not allowed. Errors end in logs, so the value is left out. */
export function refusePersonalValue(name: string, allowed: string): MaskedBanditError {
  const message = `${name} must be ${allowed} (the value given is personal and not shown)`;
  return new MaskedBanditError("personal_value", message);
}

const LONGEST_VALUE = 400;

function showValue(value: unknown): string {
  let text = "an object";
  try {
    text = typeof value === "string" ? JSON.stringify(value) : String(value);
  } catch {
    // JSON from elsewhere may have a toString of its own, or be a list in a list in a list, and so on
  }
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE)}...`;
}
