// An application in a process of its own: it reports until it is killed, and says of each report that it is written;
// with one more argument it is a twin that says so too early.

import { Client } from "../../dist/server/index.js";
import { Outbox } from "../../dist/server/outbox.js";

const [url, folder, first, twin] = process.argv.slice(2);
const { put } = Outbox.prototype;
if (twin) Outbox.prototype.put = async function (message) { void put.call(this, message); }; // promises too early
const options = { url, key: "mb_client_secret", study: "newsletter", fallback: "plain", folder };
const client = await Client.open(options).catch((why) => {
  console.log(why.code);
  process.exit(0);
});
console.log("open");
for (let i = Number(first); ; i++) {
  await client.report(`t${i % 7}`, i % 1000, { event: String(i) });
  console.log(i);
}
