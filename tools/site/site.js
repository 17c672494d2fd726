// Parts of the navigation, and the buttons beside code, are no landmarks of their own: the theme marks them as such, many
// with the same name or none, so whoever goes from landmark to landmark would meet them all.
const PARTS = ".md-code__nav, .md-nav .md-nav";

function quietParts() {
  for (const part of document.querySelectorAll(PARTS)) {
    part.role = "none";
    for (const name of ["aria-label", "aria-labelledby", "aria-expanded"]) part.removeAttribute(name);
  }
}

quietParts();
new MutationObserver(quietParts).observe(document.body, { childList: true, subtree: true });
