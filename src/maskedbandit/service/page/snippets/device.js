// npm install maskedbandit
import { Agreed, Device } from "maskedbandit/web";

const { key, unit, token } = await (await fetch("/me.json")).json(); // from your server, which has signed the token
const device = new Device(unit, "{{address}}", new Agreed({{script_agreed}}), { key });
await device.consent(true); // she agrees: nothing is stored or sent before
const { arm, payload } = await device.assign("{{study}}", unit, token{{device_attributes}}); // the same arm whenever she comes
console.log(arm, payload);
await device.expose("{{study}}"); // she sees it
await device.record("{{study}}", {{value}}); // what became of her: in this browser, and nowhere else
await device.contact(); // at every page, or by a timer: what is due is sent
