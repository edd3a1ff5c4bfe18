// This script adds to the import page what htmx lacks: a progress bar, and a clear message if the chosen file cannot
// be sent.
"use strict";

(() => {
  const form = document.getElementById("import");
  const file = document.getElementById("file");
  const bar = document.getElementById("upload-progress");
  if (!form) return;

  function problem(text) {
    const message = document.createElement("p");
    message.className = "problem";
    message.setAttribute("role", "alert");
    message.textContent = text;
    document.getElementById("import-result").replaceChildren(message);
    file.focus();
  }

  // Remove an old preview, so that its button cannot import a file that was chosen later.
  form.addEventListener("change", () => document.getElementById("import-result").replaceChildren());
  // Browsers refuse to send a file that was saved again after it was chosen. Reading one byte shows whether they
  // would.
  form.addEventListener("htmx:confirm", async (event) => {
    event.preventDefault();
    if (file.files.length === 0) return problem("Choose a file.");
    try {
      await file.files[0].slice(0, 1).arrayBuffer();
    } catch {
      file.value = "";
      return problem("The file was changed after you chose it. Choose it again to see what it does now.");
    }
    event.detail.issueRequest(true);
  });
  form.addEventListener("htmx:beforeRequest", () => {
    bar.value = 0;
    bar.hidden = false;
    form.setAttribute("aria-busy", "true");
  });
  form.addEventListener("htmx:xhr:progress", (event) => {
    const { loaded, total } = event.detail;
    if (loaded < total) bar.value = (100 * loaded) / total;
    else bar.removeAttribute("value"); // uploaded; the server is still working
  });
  form.addEventListener("htmx:afterRequest", () => {
    bar.hidden = true;
    form.removeAttribute("aria-busy");
  });
})();
