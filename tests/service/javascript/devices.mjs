// Devices of the TypeScript package in Node, beside the built package: a step a line, and what came of it a line.

import "fake-indexeddb/auto";
import { createInterface } from "node:readline";

import { Agreed, Device } from "./dist/web/index.js";

const TOGETHER = 20; // people who come at the same time
const usual = globalThis.fetch;

const STEPS = {
  /** People see their arms, and all have the same outcome: which arms. */
  come: ({ study, people, value, ...given }) =>
    forEach(people, async ([unit, token]) => {
      const device = open(unit, given);
      await device.consent(true);
      const { arm, why } = await device.assign(study, unit, token);
      if (why || !(await device.expose(study)) || !(await device.record(study, value))) throw new Error(why);
      await device.close();
      return arm;
    }),

  /** They come back: what each device says that it sent, and what the service answered. */
  return: ({ people, ...given }) =>
    forEach(people, async ([unit]) => {
      const device = open(unit, given);
      await device.contact();
      const [{ sent }] = await device.show();
      await device.close();
      return sent.map(({ says, answer }) => [says, answer]);
    }),

  /** The bodies that somebody's device sends of a place that is handed over, to a service that gives and takes all. */
  async report({ place, value, ...given }) {
    const bodies = [];
    globalThis.fetch = async (url, { body }) => {
      bodies.push(body);
      return Response.json(url.endsWith("/pass") ? { status: "given", shown: "5b".repeat(64) } : { status: "accepted" });
    };
    const { ticket, exposed, window } = place;
    const device = open(ticket, { ...given, clock: () => now });
    let now = exposed;
    await device.consent(true);
    await device.join(place);
    await device.record(place.study, value);
    now += window;
    await device.contact();
    await device.close();
    indexedDB.deleteDatabase(ticket);
    globalThis.fetch = usual;
    return bodies;
  },
};

function open(name, { url, key, epsilon, agreed = {}, ahead = 0, clock = () => Date.now() + 1000 * ahead }) {
  return new Device(name, url, new Agreed(epsilon, agreed), { key, clock });
}

async function forEach(people, make) {
  const found = [];
  for (let at = 0; at < people.length; at += TOGETHER) {
    found.push(...(await Promise.all(people.slice(at, at + TOGETHER).map(make))));
  }
  return found;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: step, ...given } = JSON.parse(line);
  console.log(JSON.stringify(await STEPS[step](given)));
}
