// Shows a person what a study has of them, and lets them leave. Who it is stands behind the # of the address, which no
// server is told and no history keeps.
"use strict";

const given = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname);

const TRUST = {
  central: "The service knows what became of you in the study, and keeps it to itself.",
  local: "Noise is added to what became of you before it is sent, so the service never knows it. It sees when something " +
    "was sent for you.",
  rounds: "What became of you stays on your device. Devices add up by themselves, and the service sees the noisy sum of " +
    "many alone, as long as it keeps to the rules. It sees when your device was in contact with it.",
  distributed: "Your device seals what became of you for these two operators, and neither can read it alone. The first " +
    "one sees when your device was in contact with it.",
  shuffled: "Your device sends what becomes of you to the second of these operators, which cannot read it, and hands it " +
    "to the first one mixed with that of others. The second one sees when your device sent it.",
};
const REASONS = {
  token_expired: "This link is too old. Open it again in the application.",
  too_many: "This was asked too often. Try again in a minute.",
};
const find = (id) => document.getElementById(id);

function say(text, bad = false) {
  find("said").textContent = text;
  find("said").className = bad ? "notice bad" : "lead";
}

async function ask(path) {
  const answer = await fetch(`/v1/studies/${encodeURIComponent(given.get("study"))}/${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${given.get("key")}`, "Content-Type": "application/json" },
    body: JSON.stringify({ unit: given.get("unit"), token: given.get("token") }),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(REASONS[body.code] ?? `This link does not hold: ${body.detail}`);
  return body;
}

function list(where, rows) {
  find(where).replaceChildren(...rows.map(([name, text]) => {
    const row = document.createElement("div"), term = document.createElement("dt"), about = document.createElement("dd");
    term.textContent = name;
    about.textContent = text;
    row.append(term, about);
    return row;
  }));
}

const when = (time) => new Date(time).toISOString().slice(0, 16).replace("T", " ");

function describe(found) {
  const { place } = found, rows = [["Study", found.study]];
  if (found.about) rows.push(["What it is to find out", found.about]);
  if (place) {
    rows.push(["What you were given", `${place.arm}, on ${when(place.assigned)}`]);
    rows.push(["When you saw it", place.exposed === null ? "not yet" : when(place.exposed)]);
    if (place.exposed !== null) {
      rows.push(["What becomes of you counts until", when(place.ends)]);
      if (place.taken_until > place.ends) rows.push(["Your device may report it until", when(place.taken_until)]);
    }
    if (found.trust === "shuffled") {
      rows.push(["The report of your device", "goes to the second operator below; this server is not told of it"]);
    } else if (found.operators.length) {
      rows.push(["Newest sealed report of your device", place.reported === null ? "none yet" : when(place.reported)]);
    }
    rows.push(["What your place costs you", place.cost]);
  }
  const period = found.period === null ? "" : " in this period";
  rows.push([`What all studies of this project cost you${period}`, `${found.spent}, of at most ${found.budget}`]);
  return rows;
}

async function show() {
  const found = await ask("person");
  list("facts", describe(found));
  list("operators", found.operators.map((each) => [each.name, each.key]));
  const trust = found.trust === "distributed" && !found.operators.length ? "rounds" : found.trust;
  find("trust").textContent = TRUST[trust] ?? "";
  find("shown").hidden = false;
  find("leaving").hidden = !found.place;
  say(found.place ? "You take part." : "You have no place in this study, and nothing is kept of you but what it cost.");
}

async function attempt(what) {
  try {
    await what();
  } catch (why) {
    say(why.message, true);
  }
}

find("leave").addEventListener("click", () => { find("sure").hidden = false; find("leave-now").focus(); });
find("stay").addEventListener("click", () => { find("sure").hidden = true; find("leave").focus(); });
find("leave-now").addEventListener("click", () => attempt(async () => { await ask("person/leave"); await show(); }));

if (["study", "unit", "key", "token"].every((name) => given.get(name))) {
  attempt(show);
} else {
  say("Open this page from the application that you use: its link says which study is meant, and who you are.", true);
}
