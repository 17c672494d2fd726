// Keeps the page of a study as new as the server's, and signs in with a key that stands behind the # of the address.
"use strict";

const sign = document.querySelector("form[data-sign-in]");
if (sign && location.hash.startsWith("#mb_")) {
  sign.elements.key.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  sign.requestSubmit();
}

const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part, part.innerHTML]));
let busy = false, again = false;

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(document.body.dataset.page, { headers: { Accept: "text/html" } });
    if (answer.redirected) return location.reload(); // the session is over
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const [part, before] of parts) {
      const after = fresh.getElementById(part.id)?.innerHTML;
      if (after !== undefined && after !== before) replace(part, after);
    }
    document.querySelector("footer").replaceWith(fresh.querySelector("footer"));
  } finally {
    busy = false;
    if (again) { again = false; setTimeout(refresh, 1000); }
  }
}

const REACHED = "a, button, summary, [tabindex]"; // with the keyboard

function replace(part, text) {
  const open = [...part.querySelectorAll("details[open]")].map((each) => each.id);
  const focused = [...part.querySelectorAll(REACHED)].indexOf(document.activeElement);
  const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  parts.set(part, text);
  part.innerHTML = text;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused >= 0) part.querySelectorAll(REACHED)[focused]?.focus({ preventScroll: true });
  part.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
}

document.addEventListener("mouseover", (event) => { // what a time is where the reader is
  const time = event.target.closest?.("time");
  if (time) time.title = new Date(time.dateTime).toLocaleString([], { dateStyle: "full", timeStyle: "long" });
});

if (document.body.dataset.events) {
  new EventSource(document.body.dataset.events).addEventListener("changed", refresh);
}
