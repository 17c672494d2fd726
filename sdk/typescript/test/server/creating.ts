// A study that is made with a client generated from the service's document. What no protocol says does not compile,
// and the service refuses it too. Run with the address of a service and the key of an owner.

import createClient from "openapi-fetch";

import type { components, paths } from "../../src/server/api.js";

type Protocol = components["schemas"]["Protocol"];

const study: Protocol = {
  name: "generated",
  about: "which greeting is answered most often",
  people: 1000,
  policy: { name: "contemporaneous_klucb", least: 20 },
  channel: { name: "central", epsilon: 0.5 },
  arms: [{ name: "plain", payload: { text: "Hello." } }, { name: "friendly" }],
  reward: { most: 5, rule: "sum", cap: 2, window: "6 hours", evaluating: "enrols" },
  guardrail: { name: "unsubscribed", harm: { above: 0.02, against: "plain" }, share: "1/4" },
  budget: { epsilon: "1/2", period: "90 days" },
};

const wrong: Protocol[] = [
  // @ts-expect-error There is no such policy.
  { ...study, policy: "contemporaneous_ucb" },
  // @ts-expect-error This policy has no such parameter.
  { ...study, policy: { name: "contemporaneous_klucb", m: 2 } },
  // @ts-expect-error A rule is one of three.
  { ...study, reward: { rule: "mean" } },
  // @ts-expect-error No key of a budget has this name.
  { ...study, budget: { epsilon: 1, days: 90 } },
  // @ts-expect-error An arm has a name.
  { ...study, arms: [{ payload: 1 }, { name: "friendly" }] },
  // @ts-expect-error The number of people is no text.
  { ...study, people: "1000" },
];

const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url!, headers: { authorization: `Bearer ${key}` } });
const made = await client.POST("/v1/studies", { body: study });
const refused: number[] = [];
for (const body of wrong) {
  refused.push((await client.POST("/v1/studies", { body })).response.status);
}
console.log(JSON.stringify({ status: made.response.status, study: made.data, error: made.error, refused }));
