// The sliders choose among settings that were simulated, so that every number here is one of the table's.
"use strict";

const MODELS = [
  { says: "everybody who looks: no privacy", kind: "without", lost: (place) => TABLE.without[place] },
  { says: "one server (central)", kind: "central", lost: (place, epsilon) => TABLE.lost.central[epsilon][place] },
  { says: "one of two servers", kind: "two", lost: (place, epsilon) => TABLE.lost["two servers"][epsilon][place] },
  { says: "nobody (local)", kind: "local", lost: (place, epsilon) => TABLE.lost.local[epsilon][place] },
];
const CHOICES = {
  epsilon: { values: TABLE.epsilons, first: 4, says: String },
  people: { values: TABLE.people, first: 2, says: count },
  arms: { values: TABLE.arms, first: 1, says: String },
  difference: { values: TABLE.differences, first: 1, says: (value) => String(Math.round(100 * value)) },
};
const LEFT = 58, TOP = 12, BOTTOM = 250; // of the drawing, which is as wide as there is room

function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

function slider(name) {
  return document.getElementById(name);
}

function chosen(name) {
  return Number(slider(name).value);
}

/** Where the numbers of this setting are in the lists of the table. */
function findPlace() {
  return (chosen("people") * TABLE.arms.length + chosen("arms")) * TABLE.differences.length + chosen("difference");
}

/** How many good outcomes are lost if everybody is given an option at random. */
function loseAtRandom() {
  const arms = TABLE.arms[chosen("arms")];
  return TABLE.people[chosen("people")] * TABLE.differences[chosen("difference")] * (1 - 1 / arms);
}

function write(tag, attributes, text = "") {
  const said = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`).join("");
  return `<${tag}${said}>${text}</${tag}>`;
}

function draw(place, most) {
  const drawing = document.getElementById("drawing");
  const width = Math.round(drawing.parentElement.clientWidth), right = width - 12;
  drawing.setAttribute("viewBox", `0 0 ${width} 300`);
  const ends = [TABLE.epsilons[0], TABLE.epsilons[TABLE.epsilons.length - 1]].map(Math.log);
  const x = (epsilon) => LEFT + ((Math.log(epsilon) - ends[0]) / (ends[1] - ends[0])) * (right - LEFT);
  const y = (lost) => BOTTOM - (lost / (1.05 * most)) * (BOTTOM - TOP);
  const parts = [0, 0.5, 1].flatMap((share) => [
    write("path", { class: "axis", d: `M${LEFT} ${y(share * most)}H${right}` }),
    write("text", { x: LEFT - 8, y: y(share * most) + 4, "text-anchor": "end" }, count(share * most)),
  ]);
  for (const epsilon of TABLE.epsilons)
    parts.push(write("text", { x: x(epsilon), y: BOTTOM + 20, "text-anchor": "middle" }, epsilon));
  const middle = (LEFT + right) / 2;
  parts.push(write("text", { x: middle, y: BOTTOM + 42, "text-anchor": "middle" }, "ε: good outcomes lost"));
  parts.push(write("path", { class: "curve random", d: `M${LEFT} ${y(most)}H${right}` }));
  for (const { kind, lost } of MODELS) {
    const points = TABLE.epsilons.map((epsilon, i) => `${x(epsilon).toFixed(1)} ${y(lost(place, i)).toFixed(1)}`);
    parts.push(write("path", { class: `curve ${kind}`, d: `M${points.join("L")}` }));
  }
  const at = x(TABLE.epsilons[chosen("epsilon")]);
  parts.push(write("path", { class: "chosen", d: `M${at} ${TOP}V${BOTTOM}` }));
  drawing.innerHTML = parts.join("");
}

function tabulate(place, most) {
  const people = TABLE.people[chosen("people")];
  const row = ({ says, kind }, lost) => {
    const line = `<svg viewBox="0 0 28 12" aria-hidden="true"><path class="curve ${kind}" d="M0 6H28"/></svg>`;
    const cells = [count(lost), ((1000 * lost) / people).toFixed(1)].map((text) => write("td", {}, text));
    return write("tr", { id: kind }, write("th", { scope: "row" }, line + says) + cells.join(""));
  };
  const rows = MODELS.map((model) => row(model, model.lost(place, chosen("epsilon"))));
  rows.push(row({ says: "no study: options at random", kind: "random" }, most));
  document.getElementById("rows").innerHTML = rows.join("");
}

function show() {
  for (const [name, { values, says }] of Object.entries(CHOICES)) {
    const text = says(values[chosen(name)]);
    document.getElementById(`${name}-says`).textContent = text;
    slider(name).setAttribute("aria-valuetext", text);
  }
  const [place, most, epsilon] = [findPlace(), loseAtRandom(), chosen("epsilon")];
  const guessed = Math.ceil(1000 / (1 + Math.exp(-TABLE.epsilons[epsilon]))) / 10;
  document.getElementById("said").textContent =
    `At ε = ${TABLE.epsilons[epsilon]}, whoever guesses from all that is published which of two equally likely ` +
    `outcomes one person had is right in at most ${guessed} of 100 cases. With one trusted server that costs the study ` +
    `${count(MODELS[1].lost(place, epsilon))} good outcomes, where a study without privacy loses ` +
    `${count(MODELS[0].lost(place))}; if nobody is trusted it costs ${count(MODELS[3].lost(place, epsilon))}.`;
  draw(place, most);
  tabulate(place, most);
}

for (const [name, { values, first }] of Object.entries(CHOICES)) {
  Object.assign(slider(name), { min: 0, max: values.length - 1, step: 1, value: first });
  slider(name).addEventListener("input", show);
}
addEventListener("resize", show);
show();
