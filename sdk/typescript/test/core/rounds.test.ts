/** A device in the round of its cohort: what places cost, and every message, as Python does it. */
import { describe, expect, test } from "vitest";
import { type KeptRound, type RoundDue, answerDue, readDue } from "../../src/core/adding_up.js";
import { Agreed } from "../../src/core/agreed.js";
import { Bits } from "../../src/core/bits.js";
import { openBytes, sealBytes } from "../../src/core/chacha.js";
import { chooseNeighbours } from "../../src/core/neighbours.js";
import { readPlace } from "../../src/core/place.js";
import { giveBytes } from "../fixed.js";
import { fromHex, readVectors, toHex } from "../vectors.js";

const { pages } = readVectors("samplers");
const { places: PLACES, neighbourhoods: NEIGHBOURHOODS, rounds: ROUNDS } = readVectors("rounds");

test.for(PLACES as any[])("$place.offer by $place.rounds", async ({ place, least, corrupted, ...found }) => {
  const check = async () => new Agreed(1_000_000, { least, corrupted }).check(readPlace(place));
  if (found.refused) await expect(check()).rejects.toThrow(new RegExp(`^${found.refused} is `));
  else expect(`${await check()}`).toBe(found.epsilon);
});

test.for(NEIGHBOURHOODS as any[])("$n, of whom $corrupted are corrupted and $lost lost", (entry) => {
  const [n, corrupted, lost] = [entry.n, entry.corrupted, entry.lost].map(BigInt) as [bigint, bigint, bigint];
  const find = () => chooseNeighbours(n, corrupted, lost, 7800n);
  if (entry.refused) expect(find).toThrow(new RegExp(`^${entry.refused} is `));
  else expect(find()).toEqual({ k: BigInt(entry.k), least: BigInt(entry.least), most: BigInt(entry.most) });
});

const NOW = 1_764_100_000_000;

/** What is due from a device in each phase of a known round. */
const listDue = ({ terms, steps }: any): RoundDue[] =>
  steps.map(({ received }: any, phase: number) => ({ terms, phase, message: fromHex(received) }));

/** A device of a known round: all that it keeps, and what it answers. */
class Played {
  rounds: readonly KeptRound[] = [];
  readonly place;

  constructor(public entry: any) {
    this.place = readPlace(entry.place);
  }

  /** What it answers, in hexadecimal. */
  async answer(due: RoundDue): Promise<string> {
    const { held, first_page, seed } = this.entry;
    const bits = new Bits(giveBytes(fromHex(pages.slice(first_page).join(""))));
    const { sent, rounds } = await answerDue(this.place, held, this.rounds, due, NOW, bits, fromHex(seed));
    this.rounds = structuredClone(rounds ?? this.rounds); // as the database does it
    return toHex(new Uint8Array(Buffer.from(sent, "base64url")));
  }
}

describe.for(ROUNDS as any[])("device $terms.n of $place.offer", (entry) => {
  const dues = listDue(entry);

  test("sends the known bytes, the same however often it is asked", async () => {
    const played = new Played(entry);
    for (const due of dues) {
      for (let time = 0; time < 2; time++) expect(await played.answer(due)).toBe(entry.steps[due.phase].sent);
    }
    for (const due of dues) expect(await played.answer(due)).toBe(entry.steps[due.phase].sent);
    const says = Number(BigInt(`0x${entry.steps[2].sent.slice(-16)}`));
    expect(played.rounds).toMatchObject([{ secrets: null, masked: { made: NOW, says, size: 42 } }]);
  });

  test("answers nothing to what is asked otherwise afterwards", async () => {
    const played = new Played(entry);
    for (const due of dues) {
      const sent = await played.answer(due);
      const longer = { ...due, message: new Uint8Array([...due.message, 0]) };
      expect(await played.answer(longer)).toBe("");
      expect(await played.answer({ ...due, terms: { ...due.terms, ring: "00".repeat(32) } })).toBe("");
      expect(await played.answer(due)).toBe(sent);
    }
  });

  test("leaves the attempt at an altered message, for ever", async () => {
    // bytes of the head; in the roster also of the seed of the ring, of the root, of the keys and of the proof
    for (const [phase, places] of [[0], [0, 1, 5, 40, 70, 200, -1], [0, 1, 5], [0, 1, 5]].entries()) {
      for (const at of places) {
        const played = new Played(entry);
        for (const due of dues.slice(0, phase)) await played.answer(due);
        const due = dues[phase]!;
        const message = due.message.length ? due.message.slice() : new Uint8Array(1);
        message[at < 0 ? message.length - 1 : at]! ^= 1;
        const answer = await played.answer({ ...due, message });
        expect([phase, at, answer]).toEqual([phase, at, ""]);
        for (const each of dues.slice(phase)) expect(await played.answer(each)).toBe("");
        expect(played.rounds.every(({ secrets }) => secrets === null)).toBe(true);
      }
    }
  });

  test("answers phases in their order alone", async () => {
    for (const phase of [1, 2, 3]) {
      expect(await new Played(entry).answer(dues[phase]!)).toBe("");
      const played = new Played(entry);
      await played.answer(dues[0]!);
      if (phase > 1) expect(await played.answer(dues[phase]!)).toBe("");
    }
  });

  test("joins no round that is not of its cohort, and the true one all the same", async () => {
    const { terms } = dues[0]!;
    const { cohort, attempt, n } = terms;
    const lies = [{ cohort: cohort + 1 }, { n: n - 1 }, { n: n + 1 }, { attempt: 0 }, { attempt: 4 }];
    const played = new Played(entry);
    for (const lie of lies) expect(await played.answer({ ...dues[0]!, terms: { ...terms, ...lie } })).toBe("");
    expect(played.rounds).toEqual([]);
    expect(await played.answer(dues[0]!)).toBe(entry.steps[0].sent);
    const before = { ...dues[0]!, terms: { ...terms, attempt: attempt - 1 } };
    expect(await played.answer(before)).toBe("");
  });

  test("joins another attempt with fresh secrets, and none after the sum was agreed to", async () => {
    const next = { ...dues[0]!, terms: { ...dues[0]!.terms, attempt: 3 } };
    const played = new Played(entry);
    for (const due of dues.slice(0, 3)) await played.answer(due);
    played.entry = { ...entry, seed: "07".repeat(32) };
    expect(await played.answer(next)).toHaveLength(entry.steps[0].sent.length);
    expect(played.rounds.map(({ secrets }) => secrets !== null)).toEqual([false, true]);
    expect(await played.answer(dues[3]!)).toBe("");
    const agreed = new Played(entry);
    for (const due of dues) await agreed.answer(due);
    expect(await agreed.answer(next)).toBe("");
    expect(agreed.rounds).toHaveLength(1);
  });
});

/** The same list of survivors without some devices. */
function dropSurvivors(due: RoundDue, ...lost: number[]): RoundDue {
  const message = due.message.slice();
  for (const user of lost) message[34 + (user >> 3)]! &= ~(1 << (user & 7));
  return { ...due, message };
}

test("a list of survivors that is too short, or without this device, is answered by nothing", async () => {
  const [entry] = ROUNDS;
  const dues = listDue(entry);
  const answers = [];
  for (const lost of [[1], [entry.place.offer.includes("position=0") ? 0 : 7]]) {
    const played = new Played(entry);
    for (const due of dues.slice(0, 3)) await played.answer(due);
    answers.push(await played.answer(dropSurvivors(dues[3]!, ...lost)), await played.answer(dues[3]!));
  }
  expect(answers).toEqual(["", "", "", ""]);
});

test("what cannot be read is not due", () => {
  const right = { cohort: 3, attempt: 1, n: 12, ring: "00", phase: 2, message: "AAEC" };
  const terms = { cohort: 3, attempt: 1, n: 12, ring: "00" };
  expect(readDue(right)).toEqual({ terms, phase: 2, message: Uint8Array.of(0, 1, 2) });
  const wrong = [{ cohort: true }, { n: -1 }, { phase: 0.5 }, { attempt: 2 ** 60 }, { ring: "0" }, { message: "A" }];
  for (const given of [null, 1, {}, "x", [1], ...wrong.map((change) => ({ ...right, ...change }))]) {
    expect(readDue(given)).toBe(null);
  }
});

test("a part of devices that cannot be is refused, and without one no round is joined", async () => {
  for (const corrupted of [-0.1, 1, NaN, "", "x", null]) {
    expect(() => new Agreed(1, { corrupted: corrupted as never })).toThrow(/^corrupted is /);
  }
  const place = readPlace(ROUNDS[0].place);
  await expect(new Agreed(2).check(place)).rejects.toThrow(/^rounds of a place is "given": it must be left out/);
  await expect(new Agreed(2, { corrupted: "1/5" }).check(place)).rejects.toThrow(/^corrupted of a place is /);
  for (const [terms, trusts] of [[{ corrupted: "1/10" }, true], [{ corrupted: 0.2 }, false], [{}, false]] as const) {
    expect(await new Agreed(2, terms).trusts(place)).toBe(trusts);
  }
  for (const rounds of [[], "1/10", "", 0, false]) {
    expect(() => readPlace({ ...ROUNDS[0].place, rounds })).toThrow(/^rounds of a place is /);
  }
});

test("seals are those of RFC 8439, section 2.8.2", () => {
  const key = Uint8Array.from({ length: 32 }, (_, at) => 128 + at);
  const [nonce, context] = [fromHex("070000004041424344454647"), fromHex("50515253c0c1c2c3c4c5c6c7")];
  const says =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, " +
    "sunscreen would be it.";
  const sealed = sealBytes(key, nonce, new TextEncoder().encode(says), context);
  expect(toHex(sealed).slice(0, 32)).toBe("d31a8d34648e60db7b86afbc53ef7ec2");
  expect(toHex(sealed).slice(-32)).toBe("1ae10b594f09e26a7e902ecbd0600691");
  expect(new TextDecoder().decode(openBytes(key, nonce, sealed, context)!)).toBe(says);
  for (const at of [0, 60, sealed.length - 1]) {
    const altered = sealed.slice();
    altered[at]! ^= 4;
    expect(openBytes(key, nonce, altered, context)).toBe(null);
  }
  expect(openBytes(key, nonce, sealed, context.slice(1))).toBe(null);
  expect(openBytes(key, nonce, sealed.slice(0, 9), context)).toBe(null);
});
