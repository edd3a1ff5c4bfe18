// This script implements the search dialog, which "/" and Ctrl-K open. The arrow keys choose a result, and Enter
// opens it.
"use strict";

(() => {
  const dialog = document.getElementById("search-dialog");
  if (!dialog) return;
  const input = document.getElementById("search-input");
  const results = document.getElementById("search-results");
  const problem = document.getElementById("search-problem");
  const status = document.getElementById("search-status");
  const list = () => document.getElementById("search-options");
  const options = () => [...list().querySelectorAll('[role="option"]')];
  const active = () => list().querySelector('[aria-selected="true"]');

  function activate(option) {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", String(!!option));
  }

  // A new search cancels the one before it, so that a late response never replaces a newer one.
  let search = null, timer = 0;
  async function find() {
    clearTimeout(timer);
    search?.abort();
    const mine = (search = new AbortController());
    results.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(input.form.action + "?q=" + encodeURIComponent(input.value),
        { headers: { "HX-Request": "true", "HX-Current-URL": location.href }, signal: mine.signal });
      const html = await response.text();
      const events = JSON.parse(response.headers.get("HX-Trigger") ?? "{}");
      if (response.headers.has("HX-Redirect")) location.assign(response.headers.get("HX-Redirect")); // the user has been signed out
      else if (events.problem) showProblem(events.problem);
      else if (!response.ok) showProblem("The search isn’t available at the moment. Try again.");
      else show(html);
    } catch (error) {
      if (error.name === "AbortError") return;
      showProblem(navigator.onLine ? "Can’t reach the server. Try again." : "You’re offline. The search needs a connection.");
    } finally {
      if (mine === search) results.removeAttribute("aria-busy");
    }
  }
  let openFirst = false; // whether to open the first result as soon as it arrives
  const isCurrent = () => problem.hidden && list().dataset.query === input.value.trim();
  function show(html) {
    problem.hidden = true;
    results.hidden = false;
    results.innerHTML = html;
    results.scrollTop = 0;
    status.textContent = results.querySelector("[data-status]")?.textContent ?? "";
    activate(options()[0]);
    if (openFirst && isCurrent()) active()?.click();
    openFirst = false;
  }
  // A message on the page would be behind the dialog, so a problem is shown in the dialog itself.
  function showProblem(text) {
    problem.textContent = text;
    problem.hidden = false;
    results.hidden = true;
    openFirst = false;
    activate(null);
  }
  addEventListener("online", () => dialog.open && !problem.hidden && find());

  function open() {
    if (!dialog.open) {
      dialog.showModal();
      if (input.value.trim()) find(); // the results may be out of date
    }
    input.focus();
    input.select();
  }
  addEventListener("keydown", (event) => {
    if (event.altKey || (event.shiftKey && event.key !== "/")) return; // some keyboards need Shift for "/"
    const shortcut = event.ctrlKey || event.metaKey ? event.key?.toLowerCase() === "k" : event.key === "/";
    const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea");
    if (!shortcut || (event.key === "/" && (typing || document.documentElement.dataset.shortcuts === "off"))) return;
    event.preventDefault();
    open();
  });
  addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("#search-close")) dialog.close();
    if (!event.target.closest("[data-search]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });

  input.addEventListener("input", () => {
    openFirst = false;
    clearTimeout(timer);
    timer = setTimeout(find, 150);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.isComposing) return;
    event.preventDefault();
    const all = options(), at = all.indexOf(active());
    if (at >= 0) activate(all[(at + step + all.length) % all.length]);
  });
  input.form.addEventListener("submit", (event) => { // by Enter
    event.preventDefault();
    if (!input.value.trim()) return;
    openFirst = !isCurrent();
    if (openFirst) find();
    else active()?.click();
  });

  // After a click on a result, the dialog stays open and shows progress until the browser leaves the page. It then
  // closes, so that it is not open if the user comes back.
  results.addEventListener("click", (event) => {
    if (event.target.closest("a") && !(event.ctrlKey || event.metaKey || event.shiftKey)) dialog.toggleAttribute("data-opening", true);
  });
  dialog.addEventListener("close", () => dialog.removeAttribute("data-opening"));
  addEventListener("pagehide", () => dialog.close());
})();
