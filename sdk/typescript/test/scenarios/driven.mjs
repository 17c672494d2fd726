// The client of Node as a program that plays scenarios: a step a line; with an argument it is a broken twin.

import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";

import { Calls } from "../../dist/server/calls.js";
import { Client, MaskedBanditError, signPerson } from "../../dist/server/index.js";
import { Outbox } from "../../dist/server/outbox.js";
import { KnownArms } from "../../dist/server/places.js";

const { next, put, writeBody } = Outbox.prototype;
const change = (alter) =>
  function (message) {
    return alter(writeBody.call(this, message));
  };
const late = [];
const signing = { signPerson };

const TWINS = {
  "asks once": [Calls.prototype, "ask", function (path, body, deadline) { return this.post(path, body, deadline); }],
  "asks often": [Calls.prototype, "ask", async function (path, body, deadline) {
    let best = await this.post(path, body, deadline / 5);
    for (let i = 0; i < 4; i++) {
      const reply = await this.post(path, body, deadline / 5);
      if (reply.status > best.status) best = reply;
    }
    return best;
  }],
  "forgets when sent": [Outbox.prototype, "next", function (study, most) {
    const found = next.call(this, study, most);
    void this.settle(found);
    return found;
  }],
  "names anew": [Outbox.prototype, "writeBody", change((body) => anew(body, "event"))],
  "proves anew": [Outbox.prototype, "writeBody", change((body) => anew(body, "proof"))],
  "exposes last": [Outbox.prototype, "put", async function (message) {
    if (message.kind === "expose") return void late.push(message);
    await put.call(this, message);
    while (late.length) await put.call(this, late.pop());
  }],
  "forgets arms": [KnownArms.prototype, "find", async () => null],
  "takes anything": [Calls.prototype, "post", takeAnything(Calls.prototype.post)],
  "leaves out the metric": [Outbox.prototype, "writeBody", change(({ metric, ...body }) => body)],
  "leaves the rest": [Outbox.prototype, "drop", async () => undefined],
  "reports anyway": [KnownArms.prototype, "staysOnDevice", () => false],
  "signs for somebody": [signing, "signPerson", (key, study, _, until) => signPerson(key, study, "somebody", until)],
  "leaves out attributes": [Client.prototype, "assign", leaveOutAttributes(Client.prototype.assign)],
  "forgets the default": [KnownArms.prototype, "served", async () => null],
  "checks nothing": [Client.prototype, "report", checkNothing(Client.prototype.report)],
};

function anew(body, field) {
  return field in body ? { ...body, [field]: randomBytes(16).toString("hex") } : body;
}

function takeAnything(post) {
  return async function (path, body, ...more) {
    const reply = await post.call(this, path, body, ...more);
    if (!path.endsWith("/batch")) return reply;
    const status = path.includes("expose") ? "exposed" : "accepted";
    const items = body.requests.map(() => ({ status: 200, answer: { status } }));
    return { status: 200, retryAfter: 0, body: { items } };
  };
}

function leaveOutAttributes(assign) {
  return function (unit, token) {
    return assign.call(this, unit, token);
  };
}

function checkNothing(report) {
  return function (ticket, ...more) {
    return report.call(this, "f".repeat(32), ...more);
  };
}

let client;

async function doStep({ do: verb, deadline, timeout, ticket, unit, token, attributes, value, event, metric, ...given }) {
  if (verb === "open") client = await Client.open({ ...given, deadlineMs: 1000 * deadline });
  else if (verb === "assign") return { ...(await client.assign(unit, token, attributes)) };
  else if (verb === "sign") return signing.signPerson(given.private, given.study, unit, given.expires);
  else if (verb === "refused") return client.refused;
  else if (verb === "report") await client.report(ticket, value, { event, metric });
  else if (verb === "flush") return client.flush(1000 * timeout);
  else if (verb === "close") await client.close(1000 * timeout);
  else await client[verb](ticket);
  return null;
}

const twin = TWINS[process.argv[2]];
if (twin) twin[0][twin[1]] = twin[2];
else if (process.argv[2]) throw new Error(`there is no twin that ${process.argv[2]}`);

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = { gives: await doStep(JSON.parse(line)) };
  } catch (why) {
    if (!(why instanceof MaskedBanditError)) throw why;
    said = { error: why.code };
  }
  console.log(JSON.stringify(said));
}
process.exit(0);
