// npm install maskedbandit
import { Agreed, Device } from "maskedbandit/web";

const { unit, place } = await (await fetch("/me.json")).json(); // from your server, which was handed the place
const device = new Device(unit, "{{address}}", new Agreed({{script_agreed}}));
await device.consent(true); // she agrees: nothing is stored or sent before
await device.join(place); // she sees the arm
console.log(place.arm);
await device.record("{{study}}", {{value}}); // what became of her: in this browser, and nowhere else
await device.contact(); // at every page, or by a timer: what is due is sent
