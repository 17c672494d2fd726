// Buttons that copy what is in the box before them, where the browser lets pages do that.
"use strict";

if (navigator.clipboard) document.documentElement.classList.add("copies");
document.addEventListener("click", async ({ target }) => {
  if (!target.matches(".copy")) return;
  await navigator.clipboard.writeText(target.previousElementSibling.textContent);
  target.textContent = "Copied";
});
