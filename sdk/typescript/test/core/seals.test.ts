import { KEM_DHKEM_X25519_HKDF_SHA256, AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256 } from "hpke";
import { describe, expect, test } from "vitest";
import { readPlace } from "../../src/core/place.js";
import { Range } from "../../src/core/prio3.js";
import { sealUpload } from "../../src/core/sealing.js";
import { Sealer } from "../../src/core/seals.js";
import { bindReport } from "../../src/core/uploads.js";
import { fixSealer, giveBytes } from "../fixed.js";
import { fromHex, readVectors, toHex } from "../vectors.js";

const SUITE = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM);

test.for(readVectors("prio3").shares as any[])("shares of $value of $largest", (entry) => {
  const range = new Range(entry.largest, fromHex(entry.context));
  expect(range.shard(BigInt(entry.value), fromHex(entry.rand)).map(toHex)).toEqual([entry.leader, entry.helper]);
});

test("a value, a range and randomness that cannot be are refused", () => {
  const range = new Range(255, fromHex("00"));
  for (const value of [-1n, 256n]) expect(() => range.shard(value, fromHex("00".repeat(64)))).toThrow(/^value must be/);
  expect(() => range.shard(1n, fromHex("00".repeat(63)))).toThrow(/^rand must be/);
  for (const largest of [0, 1.5, 2 ** 32]) expect(() => new Range(largest, fromHex("00"))).toThrow(/^largest is/);
});

function readTerms(given: any) {
  const { cohort, largest, place, study, offer } = given;
  return { cohort, largest, place: BigInt(place), study: fromHex(study), offer: fromHex(offer) };
}

describe.for(readVectors("seals").seals as any[])("seal of turn $turn for role $role", (entry) => {
  const [report, info] = [fromHex(entry.report), fromHex(entry.info)];

  test("is bound to what is known, and the same bytes", async () => {
    expect(toHex(bindReport(readTerms(entry.terms), entry.role, report, entry.turn))).toBe(entry.info);
    const sealer = fixSealer(entry.ephemeral);
    expect(toHex(await sealer.seal(fromHex(entry.share), fromHex(entry.public), info))).toBe(entry.sealed);
  });

  test("opens for its operator, and under no other terms", async () => {
    const sealed = await new Sealer().seal(fromHex(entry.share), fromHex(entry.public), info);
    const reader = await SUITE.DeserializePrivateKey(fromHex(entry.private), true);
    const open = (bound: Uint8Array) => SUITE.Open(reader, sealed.slice(0, 32), sealed.slice(32), { info: bound });
    expect(toHex(await open(info))).toBe(entry.share);
    for (const terms of entry.refused) {
      await expect(open(bindReport(readTerms(terms), entry.role, report, entry.turn))).rejects.toThrow();
    }
    await expect(open(bindReport(readTerms(entry.terms), entry.role, report, entry.turn + 1))).rejects.toThrow();
    await expect(open(bindReport(readTerms(entry.terms), 1 - entry.role, report, entry.turn))).rejects.toThrow();
  });
});

describe.for(readVectors("uploads").uploads as any[])("upload of $steps steps in turn $turn", (entry) => {
  const place = readPlace(entry.place);

  test("is the known body", async () => {
    const sealer = fixSealer(...entry.ephemeral);
    const draw = giveBytes(fromHex(entry.random));
    expect(await sealUpload(place, BigInt(entry.steps), entry.turn, draw, sealer)).toBe(entry.body);
  });

  test("has the same size whatever it says, and is another one each time", async () => {
    const bodies = await Promise.all([0n, place.offer.steps, 0n].map((steps) => sealUpload(place, steps, entry.turn)));
    expect(bodies.map((body) => body.length)).toEqual(bodies.map(() => entry.body.length));
    expect(new Set(bodies.flatMap((body) => Object.values(JSON.parse(body)).slice(1))).size).toBe(1 + 3 * 3);
  });
});
