// A page of an application without a framework, in a study of local trust: what it tells of a person has its noise here.
import { Agreed, Device } from "/dist/web/index.js";

const STUDY = "headline";
const AGREED = new Agreed(1); // what all studies together may cost the person: it comes with the page

// The application's own backend says who is signed in, with a person token that it signed (signPerson, in three lines).
const { service, key, unit, token } = await (await fetch("/me.json")).json();
const device = new Device(unit, service, AGREED, { key });
const find = (id) => document.getElementById(id);

/** The arm is shown, and the service hears that it was. Without one the page stays as it is. */
async function showHeadline() {
  try {
    const { payload } = await device.assign(STUDY, unit, token);
    if (payload) find("headline").textContent = payload.headline;
    await device.expose(STUDY);
  } catch (refused) {
    console.info(`no headline: ${refused.code}`);
  }
}

/** What the person may want to know, from what the device itself keeps. */
async function showStudy() {
  const [study] = await device.show();
  find("study").hidden = !study;
  if (!study) return;
  const sent = study.sent.map(({ made, says }) => `${says}, on ${new Date(made).toLocaleDateString("en")}`);
  const facts = {
    Study: study.study,
    State: study.ended === "left" ? "you have left" : study.ended || "you take part",
    "What it may tell of you": `ε = ${study.epsilon}, whatever happens`,
    "What was sent": sent.join("; ") || "nothing yet",
  };
  find("facts").replaceChildren(
    ...Object.entries(facts).flatMap(([name, text]) => [
      Object.assign(document.createElement("dt"), { textContent: name }),
      Object.assign(document.createElement("dd"), { textContent: text }),
    ]),
  );
  find("leave").hidden = study.ended !== "";
}

find("subscribe").addEventListener("click", async () => {
  find("thanks").textContent = "Thank you. The next letter comes on Friday.";
  await device.record(STUDY, 1).catch(() => false); // on this device, and nowhere else
});
find("yes").addEventListener("click", async () => {
  localStorage.asked = "yes";
  find("ask").hidden = true;
  await device.consent(true); // nothing is stored or sent before
  await showHeadline();
  await showStudy();
});
find("no").addEventListener("click", () => {
  localStorage.asked = "no";
  find("ask").hidden = true;
});
find("leave").addEventListener("click", async () => {
  await device.leave(STUDY);
  await showStudy();
});

// Contacts are when the page is opened and every ten minutes, and never because of what the person does.
find("ask").hidden = localStorage.asked !== undefined;
if (localStorage.asked === "yes") await showHeadline();
await device.contact();
await showStudy();
setInterval(() => device.contact().then(showStudy), 600_000);
document.body.dataset.ready = "yes";
