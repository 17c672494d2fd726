// What the theme leaves to do for whoever uses no mouse, or does not see the page.

// Parts of the navigation, and the buttons beside code, are no landmarks of their own: the theme marks them as such, many
// with the same name or none, so whoever goes from landmark to landmark would meet them all.
function quietParts() {
  for (const part of document.querySelectorAll(".md-code__nav, .md-nav .md-nav")) {
    part.role = "none";
    for (const name of ["aria-label", "aria-labelledby", "aria-expanded"]) part.removeAttribute(name);
  }
}

// A table that is wider than the screen is scrolled with the keys of the arrows too.
function reachTables() {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  }
}

function mendPage() {
  quietParts();
  reachTables();
}

mendPage();
addEventListener("resize", reachTables);
new MutationObserver(mendPage).observe(document.body, { childList: true, subtree: true });
