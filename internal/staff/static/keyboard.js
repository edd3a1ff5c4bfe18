// This script is for people who use the keyboard: it moves the focus in menus, keeps it with what they have changed, and
// implements the shortcuts that "?" lists.
"use strict";

(() => {
  const body = document.body, page = document.documentElement;
  const canFocus = (element) => !element.disabled && element.checkVisibility({ visibilityProperty: true });
  const focusFirst = (root, ...selectors) => {
    for (const selector of selectors) {
      const element = root && [...root.querySelectorAll(selector)].find(canFocus);
      if (!element) continue;
      element.focus({ preventScroll: !byKeyboard });
      return true;
    }
    return false;
  };
  let byKeyboard = false; // whether the last input came from the keyboard; a page never scrolls because of a click
  addEventListener("keydown", () => (byKeyboard = true), true);
  addEventListener("pointerdown", () => (byKeyboard = false), true);

  // Menus: the arrow keys, Home and End move in them. Escape closes a menu, and so do choosing something in it, leaving it
  // with Tab, and a click elsewhere.
  function closeMenu(menu) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  }
  addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".menu[open]")) {
      const chosen = event.target.closest(".items a, .items button:not(.theme button)");
      if (!menu.contains(event.target)) menu.open = false;
      else if (chosen?.matches('[type="button"]')) closeMenu(menu); // before a dialog opens, which gives the focus back
      else if (chosen) setTimeout(closeMenu, 0, menu); // after htmx has noted which button sends the form
    }
  });
  addEventListener("focusout", ({ target, relatedTarget }) => {
    const menu = target.closest?.(".menu[open]");
    if (menu && relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  addEventListener("keydown", (event) => {
    const menu = event.target.closest?.(".menu");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], end = { Home: 0, End: -1 }[event.key];
    if (!menu || event.ctrlKey || event.metaKey || event.altKey || !(step || (menu.open && end !== undefined))) return;
    event.preventDefault();
    menu.open = true;
    const items = [...menu.querySelectorAll(".items :is(a, button)")].filter(canFocus), at = items.indexOf(document.activeElement);
    items.at(end ?? (at < 0 ? Math.min(0, step) : (at + step) % items.length))?.focus();
  });
  // Escape cancels editing, or closes a menu or a panel.
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const cancel = event.target.closest?.("tr, section.editing")?.querySelector(".cancel");
    const menu = event.target.closest?.("details[open]") ?? document.querySelector(".menu[open]");
    if (cancel) {
      cancel.focus(); // the focus goes on to the element that takes its place
      cancel.click();
    } else if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // Focus: an update may replace or remove the element that has it. The focus then goes to the same element, to the next
  // step of the same row, to the row that has taken its place, or to the same section.
  const address = (element) => (element.id ? "#" + CSS.escape(element.id) : `[aria-labelledby="${element.getAttribute("aria-labelledby")}"]`);
  const rowsOf = (section) => [...section.querySelectorAll("tbody > tr, ul > li")];
  function placeOf(element) {
    const row = element.closest("tr, li"), section = (row ?? element).parentElement.closest("[id], [aria-labelledby]");
    return {
      element, id: element.id, row: row?.id, section: section && address(section), at: row && section ? rowsOf(section).indexOf(row) : -1,
      kind: element.matches("summary, .items *") ? ".menu > summary" : element.matches(".name a") ? ".name a" : element.matches("[type=checkbox]") ? "[type=checkbox]" : "button.primary",
    };
  }
  const focusRow = (row, kind) => focusFirst(row, kind, ".actions :is(button, a):not(.items *)", ".actions summary", ".name a", "a, button, summary");
  // A message names the object that was changed. Its row on this page is about that object, too.
  const rowAbout = (object) => document.getElementById(object) ?? document.getElementById(object.replace(/^order-/, "work-"));
  function restore({ element, id, row, section, at, kind }) {
    const same = id && document.getElementById(id), again = row && document.getElementById(row), around = section && document.querySelector(section);
    if (same && canFocus(same)) return same.focus({ preventScroll: !byKeyboard });
    if (again && around?.contains(again) && focusRow(again, kind)) return;
    const rows = around && at >= 0 ? rowsOf(around) : [];
    if (rows.length > 0 && focusRow(rows[Math.min(at, rows.length - 1)], kind)) return;
    if (again && focusRow(again, kind)) return;
    if (element.closest(".page-head") && focusFirst(document.querySelector("main .page-head .tools"), ".primary", "button, summary", "a")) return;
    const changed = document.querySelector("#flashes > :last-child")?.dataset.about;
    if (around?.matches("section")) {
      if (focusFirst(around, kind, "button, summary", "a")) return;
      around.tabIndex = -1; // an empty section has nothing to press
      around.focus({ preventScroll: !byKeyboard });
    } else if (!changed || !focusRow(rowAbout(changed), kind)) document.getElementById("main").focus({ preventScroll: true });
  }
  let lost = null; // the place of the element that an update has replaced
  body.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
    const element = document.activeElement;
    if (shouldSwap && element !== body && target.contains(element) && !target.matches("tr.more")) lost = placeOf(element);
  });
  body.addEventListener("htmx:afterSettle", () => {
    const place = lost;
    lost = null;
    if (place && !place.element.isConnected && document.activeElement === body) restore(place);
  });
  // A message is removed when its button is pressed. The focus goes to what the message was about.
  addEventListener("click", (event) => {
    const message = event.target.closest("#flashes > div"), about = message?.dataset.about;
    if (message) setTimeout(() => !message.isConnected && document.activeElement === body && (about && focusRow(rowAbout(about), "button.primary") || document.getElementById("main").focus({ preventScroll: true })));
  }, true);

  // Shortcuts of one key can be turned off, because programs for speech input press keys that nobody meant.
  const dialog = document.getElementById("shortcuts");
  if (!dialog) return;
  const choice = document.getElementById("shortcuts-on");
  const stored = () => { try { return localStorage.getItem("shortcuts"); } catch { return null; } };
  const show = () => {
    page.dataset.shortcuts = stored() ?? "on";
    choice.checked = page.dataset.shortcuts === "on";
  };
  show();
  addEventListener("storage", show); // another tab has turned them on or off
  choice.addEventListener("change", () => {
    try { localStorage.setItem("shortcuts", choice.checked ? "on" : "off"); } catch { /* a private window stores nothing */ }
    page.dataset.shortcuts = choice.checked ? "on" : "off";
  });
  for (const button of document.querySelectorAll("[data-shortcuts-list]")) {
    button.hidden = false;
    button.addEventListener("click", () => setTimeout(() => dialog.showModal())); // after its menu has closed
  }

  const link = (row) => row.querySelector(".name a");
  function move(step) {
    const rows = [...document.querySelectorAll("main .list tbody > tr")].filter((row) => link(row) && canFocus(link(row)));
    const at = rows.indexOf(document.activeElement.closest("tr"));
    const next = at < 0 ? rows.find((row) => row.getBoundingClientRect().top >= 0) : rows[at + step];
    if (next) link(next).focus();
  }
  const actions = {
    "?": () => dialog.showModal(),
    z: () => [...document.querySelectorAll("#flashes .undo")].at(-1)?.click(),
    j: () => move(1),
    k: () => move(-1),
    x: () => document.activeElement.closest("tr")?.querySelector('[name="pet"]')?.click(),
    n: () => document.querySelector("main .page-head .panel:not([open]) > summary")?.click(),
  };
  let going = 0; // when "g" was pressed
  addEventListener("keydown", (event) => {
    const { target, key } = event;
    const typing = target.closest?.("input:not([type=checkbox], [type=radio], [type=submit]), select, textarea, [contenteditable]");
    if (page.dataset.shortcuts !== "on" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing || event.isComposing) return;
    if (document.querySelector("dialog[open], main :popover-open")) return;
    const go = event.timeStamp - going < 1500 && document.querySelector(`.sidebar [data-go="${CSS.escape(key.toUpperCase())}"]`);
    going = key === "g" ? event.timeStamp : 0;
    if (!go && !Object.hasOwn(actions, key)) return;
    event.preventDefault();
    if (go) go.click();
    else actions[key]();
  });
})();
