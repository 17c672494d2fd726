/** What a service hands out that is not as the person agreed: a refusal names it, and nothing is kept or sent. */
import "fake-indexeddb/auto";
import { expect, test } from "vitest";
import { Agreed, type Device } from "../../src/web/index.js";
import {
  EXPOSED, FakeService, GRACE, HOUR, PINNED, STUDY, TOKEN, WINDOW,
  localPlace, makeDevice, offerLaplace, refusalOf, sealedPlace,
} from "./fake_service.js";

const other = { ...sealedPlace().operators[1], name: "Other", seals: "77".repeat(32) };
const offered = (place: Record<string, any>, from: string | RegExp, to: string) => place.offer.replace(from, to);
const [sealed, local] = [sealedPlace(), localPlace()];

const REFUSED: Record<string, [unknown, RegExp]> = {
  "not an object": [[], /^invalid_value: place/],
  "nothing": [undefined, /^invalid_value: place/],
  "a negative window": [sealedPlace({ window: -1 }), /^invalid_value: window of a place/],
  "an exposure of another kind": [sealedPlace({ exposed: "now" }), /^invalid_value: exposed of a place/],
  "no exposure": [sealedPlace({ exposed: undefined }), /^invalid_value: exposed of a place/],
  "a ticket that is none": [sealedPlace({ ticket: "K 3" }), /^personal_value: ticket of a place/],
  "another helper": [sealedPlace({ operators: [sealed.operators[0], other] }), /^invalid_value: keys of the helper/],
  "operators who changed places": [
    sealedPlace({ operators: [...sealed.operators].reverse() }), /^invalid_value: keys of the leader/,
  ],
  "less noise": [
    sealedPlace({ offer: offered(sealed, "Laplace:1:1", "Laplace:1/2:1") }), /^invalid_value: noise of an offer/,
  ],
  "no noise": [sealedPlace({ offer: offered(sealed, "DiscreteLaplace:1:1", "") }), /^invalid_value: noise of an offer/],
  "a channel of another trust": [
    localPlace({ offer: offered(local, "Response", "Central") }), /^invalid_value: channel of an offer/,
  ],
  "a small cohort": [sealedPlace({ offer: offered(sealed, "n=100", "n=49") }), /^invalid_value: n of an offer/],
  "an offer that costs more": [
    sealedPlace({ offer: offered(sealed, "epsilon:1", "epsilon:2").replace("Laplace:1:1", "Laplace:1/2:1") }),
    /^budget_exceeded: epsilon of an offer is 2/,
  ],
  "a bit that costs more": [
    localPlace({ offer: offered(local, "1/2", "3/2") }), /^budget_exceeded: epsilon of an offer is 3\/2/,
  ],
  "two outcomes that cost more together": [
    localPlace({
      offer: `${offerLaplace(1)}\n${local.offer} metric=gone`,
      further: [{ name: "gone", least: 0, most: 1, default: 0 }],
    }),
    /^budget_exceeded: epsilon of an offer is 3\/2/,
  ],
  "no time for a report": [localPlace({ grace: 0 }), /^invalid_value: grace of a place/],
};

async function checkRefused(device: Device, service: FakeService, place: unknown, message: RegExp, usual: object) {
  expect(await refusalOf(device.join(place))).toMatch(message);
  expect(await device.show()).toEqual([]);
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(service.seen).toEqual([]);
  service.time = EXPOSED;
  await device.join(usual); // a place that was refused takes nothing
  expect(await device.show()).toHaveLength(1);
}

for (const [what, [place, message]] of Object.entries(REFUSED)) {
  test(`${what} is refused`, async () => {
    const service = new FakeService();
    const device = await makeDevice(service, { agreed: new Agreed(1, { operators: PINNED, least: 50 }) });
    await checkRefused(device, service, place, message, sealedPlace());
  });

  test(`${what} is refused where the device asked for it`, async () => {
    if (typeof place !== "object" || Array.isArray(place)) return;
    const service = new FakeService();
    const device = await makeDevice(service, { agreed: new Agreed(1, { operators: PINNED, least: 50 }) });
    service.place = place as Record<string, any>;
    expect(await refusalOf(device.assign(STUDY, "ann", TOKEN))).toMatch(message);
    await device.contact();
    expect(await device.expose(STUDY)).toBe(false);
    expect(service.verbs).toEqual(["assign"]);
  });
}

test("a device whose application names no operators takes no sealed place", async () => {
  const service = new FakeService();
  const device = await makeDevice(service, { agreed: new Agreed(1) });
  await checkRefused(device, service, sealedPlace(), /^invalid_value: operators of a place/, localPlace());
});

test("all studies together cost no more than agreed, also those that the person left", async () => {
  const service = new FakeService();
  const device = await makeDevice(service, { agreed: new Agreed("1.2") });
  const study = (number: number) =>
    localPlace({ study: `study${number}`, terms: { protocol: `${number}`.repeat(64) } });
  await device.join(study(1));
  await device.join(study(2));
  expect(await refusalOf(device.join(study(3)))).toMatch(/^budget_exceeded: .* at most 6\/5, .* have cost 1$/);
  await device.leave("study1");
  expect(await refusalOf(device.join(study(3)))).toMatch(/^budget_exceeded/);
});

test("a study gets no second place: by no other ticket, protocol or name", async () => {
  const terms = { protocol: "aa".repeat(32) };
  for (const change of [{ ticket: "other" }, { terms, ticket: "other" }, { study: "other" }]) {
    const service = new FakeService();
    const device = await makeDevice(service);
    await device.join(localPlace());
    expect(await refusalOf(device.join(localPlace(change)))).toMatch(/^already_spent: this device has another place/);
    expect(await device.show()).toHaveLength(1);
  }
});

test("a place that was given before this device knew of it is kept, and nothing is sent of it", async () => {
  const service = new FakeService();
  const device = await makeDevice(service);
  for (const again of [true, false]) {
    const refusal = await refusalOf(device.join(localPlace({ again })));
    expect(refusal).toMatch(/^already_spent: this device was not the first/);
  }
  service.time = EXPOSED + WINDOW;
  await device.contact();
  expect(service.seen).toEqual([]);
  expect(await device.show()).toMatchObject([{ ended: "elsewhere", sent: [] }]);
});

test("a clock that is a little behind counts the window from now", async () => {
  const service = new FakeService();
  const device = await makeDevice(service);
  service.time = EXPOSED - 24 * HOUR;
  await device.join(localPlace());
  expect((await device.show())[0]!.exposed).toBe(EXPOSED - 24 * HOUR);
});

test("a clock that is wrong is refused", async () => {
  const wrong = { wrong_clock: EXPOSED - 24 * HOUR - 1, late: EXPOSED + WINDOW + GRACE + 1 };
  for (const [code, time] of Object.entries(wrong)) {
    const service = new FakeService();
    const device = await makeDevice(service);
    service.time = time;
    expect(await refusalOf(device.join(localPlace()))).toMatch(new RegExp(`^${code}: by the clock of this device`));
    expect(await device.show()).toEqual([]);
    expect(service.seen).toEqual([]);
  }
});

test("a clock that is set ahead later sends nothing after the time for reports", async () => {
  const service = new FakeService();
  const device = await makeDevice(service);
  await device.join(localPlace());
  service.time = EXPOSED + 1000 * HOUR;
  await device.contact();
  expect(await device.record(STUDY, 1)).toBe(false);
  expect(service.seen).toEqual([]);
});

test("refusals show no secret", async () => {
  const device = await makeDevice(new FakeService());
  for (const change of [{ ticket: "SECRET TICKET" }, { study: "SECRET/" }, { terms: { protocol: "SECRET" } }]) {
    expect(await refusalOf(device.join(localPlace(change)))).not.toContain("SECRET");
  }
});

test("a device that checks no offer is found", async () => {
  class Trusting extends Agreed {
    override async check() {
      return new Agreed(1).epsilon;
    }
  }
  for (const what of ["less noise", "no noise", "another helper", "a small cohort"]) {
    const [place, message] = REFUSED[what]!;
    const service = new FakeService();
    const device = await makeDevice(service, { agreed: new Trusting(1, { operators: PINNED }) });
    await expect(checkRefused(device, service, place, message, sealedPlace())).rejects.toThrow();
  }
});
