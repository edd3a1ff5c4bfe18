// This script lets users select rows in the list of animals, and brings them back to the same place in the list.
"use strict";

(() => {
  const body = document.body;
  const maxSelected = 100; // the server's limit
  const boxes = () => [...document.querySelectorAll('#catalogue input[name="pet"]')];

  // The value of a checkbox changes when its animal changes. A row that is replaced therefore keeps its tick only if
  // the animal has not changed.
  const ticked = new Set();
  function showSelection() {
    const all = boxes(), selected = all.filter((box) => box.checked);
    ticked.clear();
    for (const box of selected) ticked.add(box.value);
    const selectAll = document.getElementById("select-all");
    if (!selectAll) return;
    selectAll.hidden = all.length === 0;
    selectAll.checked = all.length > 0 && selected.length === Math.min(all.length, maxSelected);
    selectAll.indeterminate = selected.length > 0 && !selectAll.checked;
    document.getElementById("bulk-count").textContent = selected.length + " selected";
    document.getElementById("bulk-clear").hidden = false;
  }
  function select(choose) {
    let n = 0;
    for (const box of boxes()) box.checked = choose && n++ < maxSelected;
    showSelection();
  }
  body.addEventListener("change", (event) => {
    if (event.target.id === "select-all") select(event.target.checked);
    else if (event.target.name === "pet") showSelection();
  });
  body.addEventListener("click", (event) => event.target.closest("#bulk-clear") && select(false));
  body.addEventListener("htmx:afterSettle", () => {
    for (const box of boxes()) if (ticked.has(box.value)) box.checked = true;
    showSelection();
  });
  body.addEventListener("submit", (event) => {
    if (event.target.id !== "bulk") return;
    for (const dialog of event.target.querySelectorAll(":popover-open")) dialog.hidePopover();
  });
  // The result of a bulk action replaces the rows of the animals and clears the selection. The page scrolls to the
  // result only if it lists problems.
  body.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
    if (target.id === "bulk-result" && shouldSwap) select(false);
  });
  body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
    if (target.id === "bulk-result") target.focus({ preventScroll: !target.querySelector(".bulk-outcome") });
  });
  showSelection();

  // Going back to the list, or reloading it, shows the same rows at the same place. The saved place of a list is the
  // first row on the screen and its distance from the top.
  const key = () => "list " + location.pathname + location.search;
  const rows = () => [...document.querySelectorAll("#catalogue tr[id]")];
  let restoring = false;
  function savePlace() {
    if (restoring) return;
    const row = scrollY > 0 && rows().find((row) => row.getBoundingClientRect().bottom > 0);
    if (row) sessionStorage.setItem(key(), JSON.stringify({ id: row.id, top: row.getBoundingClientRect().top, rows: rows().length }));
    else sessionStorage.removeItem(key());
  }
  async function restorePlace() {
    const saved = JSON.parse(sessionStorage.getItem(key()));
    const [navigation] = performance.getEntriesByType("navigation");
    if (!saved || !["back_forward", "reload"].includes(navigation?.type)) return;
    restoring = true;
    // Load as many rows as before, and up to 200 more if new animals have pushed the saved row down.
    const missing = () => rows().length < saved.rows || (!document.getElementById(saved.id) && rows().length < saved.rows + 200);
    for (let more; missing() && (more = document.querySelector("#catalogue tr.more a[hx-get]"));) {
      const before = rows().length;
      await new Promise((done) => {
        for (const end of ["htmx:afterSettle", "htmx:responseError", "htmx:sendError"]) body.addEventListener(end, done, { once: true });
        more.click();
      });
      if (rows().length === before) break; // the request failed
    }
    const row = document.getElementById(saved.id);
    if (row) scrollBy({ top: row.getBoundingClientRect().top - saved.top, behavior: "instant" });
    restoring = false;
  }
  history.scrollRestoration = "manual";
  let timer = 0;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(savePlace, 100);
  }, { passive: true });
  addEventListener("click", savePlace, true); // a link may be followed before the timer ends
  addEventListener("DOMContentLoaded", () => setTimeout(restorePlace)); // after htmx has prepared the page

  // The list is refreshed while the user types in this field. Another refresh when they leave it would clear the
  // boxes that they tick next.
  body.addEventListener("change", (event) => event.target.id === "filter-name" && event.stopPropagation(), true);
})();
