"use strict";

// Runs before the page is shown, so that it appears at once as the reader has chosen.
document.documentElement.classList.add("js");
for (const name of ["theme", "language"]) {
  try {
    const chosen = localStorage.getItem("docs-" + name);
    if (chosen) document.documentElement.dataset[name] = chosen;
  } catch {
    // The browser stores nothing for this site.
  }
}
document.documentElement.dataset.language ??= "curl";
