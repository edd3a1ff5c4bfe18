// The search in everything: a dialog that "/" and Ctrl-K open. The arrow keys choose a result, and Enter opens it.
"use strict";

(() => {
  const dialog = document.getElementById("search-dialog");
  if (!dialog) return;
  const input = document.getElementById("search-input");
  const results = document.getElementById("search-results");
  const problem = document.getElementById("search-problem");
  const list = () => document.getElementById("search-options");
  const options = () => (results.hidden ? [] : [...list().querySelectorAll('[role="option"]')]);
  const active = () => list().querySelector('[aria-selected="true"]');

  function activate(option) {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", String(options().length > 0));
  }
  const refresh = () => htmx.trigger(input, "refresh");
  function open() {
    if (!dialog.open) {
      dialog.showModal();
      if (input.value.trim()) refresh(); // the results may be out of date
    }
    input.focus();
    input.select();
  }
  addEventListener("keydown", (event) => {
    if (event.altKey || event.shiftKey && event.key !== "/") return; // some keyboards need Shift for "/"
    const shortcut = event.ctrlKey || event.metaKey ? event.key?.toLowerCase() === "k" : event.key === "/";
    const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea");
    if (!shortcut || (event.key === "/" && typing)) return;
    event.preventDefault();
    open();
  });
  addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("#search-close")) dialog.close();
    if (!event.target.closest("[data-search]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  // The dialog stays, with its sign of progress, until the result is there. Going back shows the page without it.
  results.addEventListener("click", (event) => {
    if (event.target.closest("a") && !(event.ctrlKey || event.metaKey || event.shiftKey)) dialog.toggleAttribute("data-opening", true);
  });
  dialog.addEventListener("close", () => dialog.removeAttribute("data-opening"));
  addEventListener("pagehide", () => dialog.close());

  // Enter opens the chosen result. If the results are not there yet, it opens the first one as soon as they are.
  let openFirst = false;
  const isCurrent = () => !results.hidden && list().dataset.query === input.value.trim();
  input.addEventListener("input", () => (openFirst = false));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const all = options(), at = all.indexOf(active());
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        if (all.length) activate(all[(at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length]);
        break;
      case "Enter":
        if (!input.value.trim()) break;
        if (isCurrent()) active()?.click();
        else refresh();
        openFirst = !isCurrent();
        break;
      default:
        return;
    }
    event.preventDefault();
  });

  dialog.addEventListener("htmx:beforeRequest", () => results.setAttribute("aria-busy", "true"));
  dialog.addEventListener("htmx:afterRequest", () => results.removeAttribute("aria-busy"));
  dialog.addEventListener("htmx:afterSettle", () => {
    results.hidden = false;
    problem.hidden = true;
    results.scrollTop = 0;
    activate(options()[0]);
    document.getElementById("search-status").textContent = results.querySelector("[data-status]")?.textContent ?? "";
    if (openFirst && isCurrent()) active()?.click();
    openFirst = false;
  });

  // The page behind the dialog is out of reach, so a problem is shown here.
  function showProblem(event, text) {
    event.stopPropagation();
    problem.textContent = text;
    problem.hidden = false;
    results.hidden = true;
    openFirst = false;
    activate(null);
  }
  dialog.addEventListener("problem", (event) => showProblem(event, event.detail.value));
  dialog.addEventListener("htmx:sendError", (event) =>
    showProblem(event, navigator.onLine ? "Can’t reach the server. Try again." : "You’re offline. The search needs a connection."));
  dialog.addEventListener("htmx:responseError", (event) => {
    if (!event.detail.xhr.getResponseHeader("HX-Trigger")) showProblem(event, "The search isn’t available at the moment. Try again.");
  });
  addEventListener("online", () => dialog.open && !problem.hidden && refresh());
})();
