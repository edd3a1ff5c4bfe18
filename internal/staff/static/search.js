// The search in everything: a dialog that "/" and Ctrl-K open. The arrow keys choose a result, and Enter opens it.
"use strict";

(() => {
  const dialog = document.getElementById("search-dialog");
  if (!dialog) return;
  const input = document.getElementById("search-input");
  const options = () => [...dialog.querySelectorAll('[role="option"]')];
  const active = () => dialog.querySelector('[aria-selected="true"]');
  function activate(option) {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }
  function open() {
    if (!dialog.open) dialog.showModal();
    input.select();
  }
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    const shortcut = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!shortcut && (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey)) return;
    event.preventDefault();
    open();
  });
  addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("#search-close")) dialog.close();
    if (!event.target.closest("[data-search]") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open();
  });
  input.addEventListener("keydown", (event) => {
    const all = options(), at = all.indexOf(active());
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (all.length) activate(all[(at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length]);
    } else if (event.key === "Enter" && at >= 0 && document.getElementById("search-options").dataset.query === input.value.trim()) {
      event.preventDefault(); // if the results are for an older text, the form opens the page with the results
      all[at].click();
    }
  });
  dialog.addEventListener("htmx:afterSettle", () => {
    input.setAttribute("aria-expanded", String(options().length > 0));
    activate(options()[0]);
  });
})();
