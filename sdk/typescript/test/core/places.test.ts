import { afterEach, expect, test, vi } from "vitest";
import { Agreed } from "../../src/core/agreed.js";
import { computeFingerprint } from "../../src/core/digests.js";
import { MaskedBanditError } from "../../src/core/errors.js";
import { Fraction } from "../../src/core/fractions.js";
import { readPlace } from "../../src/core/place.js";
import { readVectors } from "../vectors.js";

const [{ place: GIVEN }] = readVectors("uploads").uploads;
const LOCAL_OFFER = "maskedbandit-offer-1 channel=Response n=100 steps=1 modulus=0 noise= terms=epsilon:1/2 position=7";
const TWO_OFFERS = `${LOCAL_OFFER}\n${LOCAL_OFFER} metric=unsubscribed`;
const GUARDRAIL = { name: "unsubscribed", least: 0, most: 1, default: 0 };
const { operators: _, ...REST } = GIVEN;
const LOCAL = { ...REST, offer: LOCAL_OFFER };
const PINNED = readVectors("fingerprints").fingerprints.slice(0, 2).map((entry: any) => entry.fingerprint);

test.for(readVectors("fingerprints").fingerprints as any[])("fingerprint $fingerprint", async (entry) => {
  expect(await computeFingerprint(entry)).toBe(entry.fingerprint);
});

/** Changes what is at a path such as operators.0.name. */
function change(given: object, path: string, value: unknown): object {
  const copy = structuredClone(given) as any;
  const names = path.split(".");
  const last = names.pop()!;
  const at = names.reduce((part, name) => part[name], copy);
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

const WRONG: [path: string, value: unknown, refused: string][] = [
  ["study", "", "study of a place"],
  ["study", "../x", "study of a place"],
  ["study", undefined, "study of a place"],
  ["arm", null, "arm of a place"],
  ["ticket", "K3", "ticket of a place"],
  ["ticket", "a\n", "ticket of a place"],
  ["again", 0, "again of a place"],
  ["rounds", { corrupted: "1/10" }, "rounds of a place"],
  ["offer", undefined, "the text of an offer"],
  ["offer", `${GIVEN.offer}\n${GIVEN.offer}`, "offers of a place"],
  ["terms", null, "protocol of a place"],
  ["terms.protocol", "AB".repeat(32), "protocol of a place"],
  ["terms.cohort", undefined, "cohort of a place"],
  ["terms.cohort", -1, "cohort of a place"],
  ["operators", [], "operators of a place"],
  ["operators", {}, "operators of a place"],
  ["operators.0", null, "operators of a place"],
  ["operators.1", [], "operators of a place"],
  ["operators.0.name", "", "name of the leader"],
  ["operators.1.name", "two\nlines", "name of the helper"],
  ["operators.1.name", "x".repeat(101), "name of the helper"],
  ["operators.1.address", "helper.example", "address of the helper"],
  ["operators.0.seals", "00", "keys of an operator"],
  ["operators.0.signs", 7, "keys of an operator"],
  ["exposed", undefined, "exposed of a place"],
  ["exposed", 0.5, "exposed of a place"],
  ["window", "1", "window of a place"],
  ["grace", 2 ** 53 + 2, "grace of a place"],
  ["least", "0", "least and most of a place"],
  ["most", 0, "least and most of a place"],
  ["most", Infinity, "least and most of a place"],
  ["default", undefined, "default of a place"],
  ["default", 2, "default of a place"],
  ["cap", 0, "cap of a place"],
  ["cap", 10_001, "cap of a place"],
  ["cap", 1.5, "cap of a place"],
  ["further", GUARDRAIL, "further outcomes of a place"],
  ["further", [7], "further outcomes of a place"],
  ["further", [{ ...GUARDRAIL, name: "" }], "name of a further outcome"],
  ["further", [GUARDRAIL, GUARDRAIL], "name of a further outcome"],
  ["further", [{ ...GUARDRAIL, most: -1 }], "least and most of unsubscribed"],
  ["further", [{ ...GUARDRAIL, default: NaN }], "default of unsubscribed"],
  ["further", [{ ...GUARDRAIL, cap: 0 }], "cap of unsubscribed"],
  ["further", [GUARDRAIL], "offers of a place"],
];

test.for(WRONG)("a place whose %s is %s is refused: %s", ([path, value, refused]) => {
  const read = () => readPlace(change(GIVEN, path, value));
  expect(read).toThrow(MaskedBanditError);
  expect(read).toThrow(new RegExp(`^${refused} (is|must be) `));
});

test("what is no object is no place, and rewards that add up begin at 0", () => {
  for (const given of [null, undefined, [], "{}", 7]) expect(() => readPlace(given)).toThrow(/^place is /);
  expect(() => readPlace({ ...GIVEN, cap: 2, least: -1 })).toThrow(/^least of a place is /);
});

test("a text of a place is not shown, as it has the ticket", () => {
  expect(() => readPlace(JSON.stringify(GIVEN))).toThrow(/^place is "not shown": it must be an object of JSON/);
});

test("what gives no text of itself is refused by name", () => {
  const deep = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
  for (const value of [{ toString: 1, valueOf: 1 }, [{ toString: 1 }], deep]) {
    for (const name of ["again", "cap", "arm", "exposed", "default", "further", "offer"]) {
      expect(() => readPlace({ ...LOCAL, [name]: value })).toThrow(MaskedBanditError);
    }
  }
});

test("what may be left out", () => {
  const { arm, least, most, ...rest } = GIVEN;
  const place = readPlace({ ...rest, more: 1, exposed: null });
  expect([place.arm, place.payload, place.exposed]).toEqual(["", null, null]);
  expect(place.outcomes).toMatchObject([{ metric: "", least: 0, most: 1, fallback: 0, cap: 1 }]);
  expect(() => place.end).toThrow(TypeError);
  expect(readPlace(LOCAL)).toMatchObject({ operators: [], cohort: null, end: 1764021600000, lastCall: 1764108000000 });
});

test("outcomes are scaled exactly, and add up to a cap", () => {
  const [outcome] = readPlace({ ...GIVEN, least: -1, most: 0.5, default: -0.25 }).outcomes;
  expect(outcome!.scaleOutcome(null).toString()).toBe("1/2");
  expect(outcome!.scaleOutcome(outcome!.addRecord(null, 0.1)).toString()).toBe("13210558906953455/18014398509481984");
  expect(outcome!.addRecord(new Fraction(1n), -1).toString()).toBe("-1");
  for (const wrong of [-1.1, 0.6, NaN, Infinity, true, "0", null, undefined, 0n]) {
    expect(() => outcome!.addRecord(null, wrong)).toThrow(/^outcome must be a number from -1 to 0.5 /);
  }
  const capped = readPlace({ ...GIVEN, cap: 3, most: 2 }).outcomes[0]!;
  let held: Fraction | null = null;
  const found = [2, 0.5, 2, 2].map((value) => (held = capped.addRecord(held, value)).toString());
  expect(found).toEqual(["2", "5/2", "9/2", "6"]);
  expect(capped.scaleOutcome(new Fraction(5n, 2n)).toString()).toBe("5/12");
});

test("each outcome is found by its name", () => {
  const place = readPlace({ ...LOCAL, further: [GUARDRAIL], offer: TWO_OFFERS });
  expect(["", "unsubscribed"].map((name) => place.findOutcome(name).offer.metric)).toEqual(["", "unsubscribed"]);
  expect(() => place.findOutcome("bought")).toThrow(/^metric is "bought": it must be unsubscribed or left out$/);
});

test("only a place that is as agreed is taken", async () => {
  const agreed = new Agreed(1, { operators: PINNED, least: 50 });
  expect(`${await agreed.check(readPlace(GIVEN))}`).toBe("1");
  expect(await agreed.trusts(readPlace(GIVEN))).toBe(true);
  expect(`${await agreed.check(readPlace(LOCAL))}`).toBe("1/2");

  const swapped = readPlace({ ...GIVEN, operators: [...GIVEN.operators].reverse() });
  await expect(agreed.check(swapped)).rejects.toThrow(/^keys of the leader is /);
  expect(await agreed.trusts(swapped)).toBe(false);
  await expect(agreed.check(readPlace(change(GIVEN, "operators.1.signs", "0".repeat(64))))).rejects.toThrow(
    /^keys of the helper is /,
  );
  await expect(new Agreed(1).check(readPlace(GIVEN))).rejects.toThrow(/^operators of a place is /);
  expect(await new Agreed(1).trusts(readPlace(GIVEN))).toBe(false);
  await expect(new Agreed(1, { least: 101 }).check(readPlace(LOCAL))).rejects.toThrow(/^n of an offer is /);
});

test("two outcomes cost together, and two servers carry one", async () => {
  expect(`${await new Agreed(1).check(readPlace({ ...LOCAL, offer: TWO_OFFERS, further: [GUARDRAIL] }))}`).toBe("1");
  const sealed = { ...GIVEN, offer: `${GIVEN.offer}\n${GIVEN.offer} metric=unsubscribed`, further: [GUARDRAIL] };
  const agreed = new Agreed(1, { operators: PINNED });
  await expect(agreed.check(readPlace(sealed))).rejects.toThrow(/^further outcome of a place is /);
});

test("all places together cost no more than was agreed", () => {
  const agreed = new Agreed("7/10");
  const [cost, spent] = [new Fraction(1n, 2n), new Fraction(1n, 5n)];
  expect(() => agreed.checkCost(cost, spent)).not.toThrow();
  try {
    agreed.checkCost(cost, spent.plus(new Fraction(1n, 10n ** 30n)));
    expect.unreachable();
  } catch (wrong) {
    expect(wrong).toMatchObject({ code: "budget_exceeded" });
    expect(`${wrong}`).toContain("epsilon of an offer is 1/2");
  }
});

test("an agreement that cannot be is refused", () => {
  for (const epsilon of [0, -1, NaN, Infinity, "", "x", "1/0", true as never, null as never]) {
    expect(() => new Agreed(epsilon)).toThrow(/^epsilon is /);
  }
  expect([0.1, 1e-7, "1/3", 1e21].map((epsilon) => `${new Agreed(epsilon).epsilon}`)).toEqual(
    ["1/10", "1/10000000", "1/3", "1000000000000000000000"],
  );
  const [leader, helper] = PINNED;
  for (const operators of [[leader], [leader, leader], [leader, helper.toUpperCase()], "x", null, {}]) {
    expect(() => new Agreed(1, { operators: operators as never })).toThrow(/^operators is /);
  }
  for (const least of [0, 1.5, "1"]) expect(() => new Agreed(1, { least: least as never })).toThrow(/^least is /);
  expect(() => new Agreed(1, { pure: 0 as never })).toThrow(/^pure is /);
});

afterEach(() => vi.unstubAllGlobals());

test("a browser that cannot seal takes no place of two operators", async () => {
  const agreed = new Agreed(1, { operators: PINNED });
  const refuse = () => Promise.reject(new DOMException("Algorithm: Unrecognized name", "NotSupportedError"));
  const digest = crypto.subtle.digest.bind(crypto.subtle);
  for (const subtle of [{ digest, importKey: refuse }, undefined]) {
    vi.stubGlobal("crypto", { subtle });
    await expect(agreed.check(readPlace(GIVEN))).rejects.toMatchObject({ code: "not_supported" });
    expect(`${await agreed.check(readPlace(LOCAL))}`).toBe("1/2");
  }
});
