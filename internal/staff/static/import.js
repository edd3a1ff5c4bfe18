// This script adds to the import page what htmx lacks: a progress bar, downloads, and a clear message if the chosen file
// cannot be sent.
"use strict";

(() => {
  const form = document.getElementById("import");
  const file = document.getElementById("file");
  const bar = document.getElementById("upload-progress");
  if (!form) return;
  const result = () => document.getElementById("import-result");

  function problem(text) {
    const message = document.createElement("p");
    message.className = "problem";
    message.setAttribute("role", "alert");
    message.textContent = text;
    result().replaceChildren(message);
    result().hidden = false;
    file.focus();
  }

  // Remove the button of an old preview, so that it cannot import what was chosen later. The answers about the file before
  // are hidden, but sent with the new file, which may have the same columns.
  form.addEventListener("change", (event) => {
    document.getElementById("import-now")?.remove();
    if (event.target === file) result().hidden = true;
  });
  // Browsers refuse to send a file that was saved again after it was chosen. Reading one byte shows whether they
  // would.
  async function isUnchanged() {
    if (file.files.length === 0) return problem("Choose a file.");
    try {
      await file.files[0].slice(0, 1).arrayBuffer();
      return true;
    } catch {
      file.value = "";
      problem("The file was changed after you chose it. Choose it again to see what it does now.");
    }
  }
  form.addEventListener("htmx:confirm", async (event) => {
    if (event.detail.elt !== form) return;
    event.preventDefault();
    if (await isUnchanged()) event.detail.issueRequest(true);
  });
  // A download is not a part of the page, so htmx must not request it.
  form.addEventListener("click", async (event) => {
    const button = event.target.closest("button[formaction]");
    if (!button) return;
    event.preventDefault();
    if (!(await isUnchanged())) return;
    const action = form.action;
    form.action = button.formAction;
    form.submit();
    form.action = action;
  });
  // An import has the same id as long as its preview is shown. If the response is lost, the page asks for this id.
  document.addEventListener("htmx:configRequest", ({ detail: { elt, parameters, headers } }) => {
    if (elt === form && parameters.sum) headers["Idempotency-Key"] = parameters.once;
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
  // The button that was pressed may be gone.
  form.addEventListener("htmx:afterSettle", () => {
    if (document.activeElement === document.body) document.getElementById("preview")?.focus({ preventScroll: true });
  });
})();
