// A page that is closed and opened again, as on a phone, in a study of two operators: whoever never comes back has
// reported the default already, and each time that it is opened it reports what holds by then.
import { Agreed, Device } from "/dist/web/index.js";

const STUDY = "reminder";

// The address and the fingerprints come with the application, and never from the service that is not trusted.
const { service, key, operators, unit, token } = await (await fetch("/me.json")).json();
const device = new Device(unit, service, new Agreed(1, { operators }), { key });
const find = (id) => document.getElementById(id);

async function showReminder() {
  const { payload } = await device.assign(STUDY, unit, token); // from the book, once it is there
  if (payload) find("reminder").textContent = payload.text;
  await device.expose(STUDY);
}

async function showStudy() {
  const [study] = await device.show();
  find("join").hidden = Boolean(study);
  find("leave").hidden = !study || study.ended !== "";
  if (!study) return;
  const names = study.operators.map(({ name }) => name).join(" and ");
  const last = study.sent.at(-1);
  const texts = [
    study.ended ? `Nothing more is sent: ${study.ended}.` : `You take part. Only ${names} together could read a report.`,
    `It costs ε = ${study.epsilon} at most.`,
    last && `Reports of this phone: ${study.sent.length}, the last of ${new Date(last.made).toLocaleTimeString("en")}.`,
  ];
  find("facts").replaceChildren(
    ...texts.filter(Boolean).map((text) => Object.assign(document.createElement("p"), { textContent: text })),
  );
}

find("join").addEventListener("click", async () => {
  await device.consent(true);
  await showReminder();
  await showStudy();
});
find("walked").addEventListener("click", async () => {
  find("thanks").textContent = "Well done.";
  await device.record(STUDY, 1).catch(() => false); // on this phone, and nowhere else
});
find("leave").addEventListener("click", async () => {
  await device.leave(STUDY);
  await showStudy();
});

/** The page is opened, or comes to the front again: a contact, whatever happened on it. */
async function open() {
  const [study] = await device.show();
  if (study && !study.ended) await showReminder();
  else await device.contact();
  await showStudy();
  document.body.dataset.ready = "yes";
}

document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && open());
await open();
