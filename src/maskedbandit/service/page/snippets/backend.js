// npm install maskedbandit
import { Client{{signer}} } from "maskedbandit/server";

{{script_token}}const client = await Client.open({ // one for the process: keep it
  url: "{{address}}",
  key: process.env.MASKEDBANDIT_KEY,
  study: "{{study}}",
  fallback: {{fallback}},
});
const ann = await client.assign({{person}}{{script_attributes}}); // the same arm whenever she comes
console.log(ann.arm, ann.payload);
await client.expose(ann.ticket); // she sees it
