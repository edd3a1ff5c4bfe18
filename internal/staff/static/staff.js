// This script adds to the pages what htmx lacks: live updates, messages, busy and offline signs, countdowns and dialogs.
"use strict";

(() => {
  const body = document.body;

  // Messages: the server sends them in the HX-Trigger header, and htmx turns that into events. A message is a text,
  // or {text, undo, values, about}. It can be undone by posting the values to the path undo. Only the newest message
  // about an object stays, so that its button cannot undo an older change.
  const flashes = document.getElementById("flashes");
  function flash({ text, undo, values, about }, kind) {
    const message = document.createElement("div");
    message.className = kind;
    if (about) {
      for (const older of flashes.querySelectorAll(`[data-about="${about}"]`)) older.remove();
      message.dataset.about = about;
    }
    const span = document.createElement("span");
    span.textContent = text;
    message.append(span);
    if (undo) {
      const button = document.createElement("button");
      button.textContent = "Undo";
      button.className = "undo";
      button.addEventListener("click", () => {
        message.remove();
        htmx.ajax("POST", undo, { source: body, swap: "none", values });
      });
      message.append(button);
    }
    flashes.append(message);
    return message;
  }
  // If the Undo button of a message needs a long form, the response itself adds the message to the page.
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (node.matches?.("div:not([data-stay])")) hideLater(node);
    while (flashes.children.length > 4) flashes.firstElementChild.remove();
  }).observe(flashes, { childList: true });
  body.addEventListener("htmx:afterRequest", ({ detail: { elt } }) => elt.closest("#flashes > div, .bulk-outcome")?.remove());
  // A message stays as long as the user points at it or is about to press its button.
  function hideLater(message) {
    const delay = message.querySelector("button") || message.className === "problem" ? 15000 : 6000;
    setTimeout(() => (message.matches(":hover, :focus-within") ? hideLater(message) : message.remove()), delay);
  }
  for (const message of flashes.children) hideLater(message); // the message about the previous request
  const detail = (event) => (event.detail.value === undefined ? event.detail : { text: event.detail.value });
  body.addEventListener("flash", (event) => flash(detail(event), "info"));
  body.addEventListener("problem", (event) => flash(detail(event), "problem"));
  // A live update may replace the element that sent a request before the response arrives. htmx then raises the
  // events of the response on the removed element, where nobody listens. So they are raised here.
  body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, elt } }) =>
    xhr.addEventListener("readystatechange", () => {
      if (xhr.readyState !== XMLHttpRequest.DONE || body.contains(elt)) return;
      const events = JSON.parse(xhr.getResponseHeader("HX-Trigger") ?? "{}");
      for (const [name, value] of Object.entries(events)) {
        body.dispatchEvent(new CustomEvent(name, { detail: typeof value === "object" ? value : { value } }));
      }
    }));

  // The response to a form can be lost although the change was saved. Each form that is sent therefore has an id, so
  // that the server saves it only once, also if the browser sends it again by itself.
  const newID = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  body.addEventListener("htmx:configRequest", ({ detail: { verb, headers } }) => {
    if (verb !== "get") headers["Idempotency-Key"] = newID();
  });
  function identify(form) {
    const field = form.querySelector('input[name="once"]') ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "once" }));
    field.value = newID();
  }
  // If the response is lost, the page says that it does not know what was saved, asks the server until that answers, and
  // shows what is saved. Until then, the form cannot be sent again, and live updates wait.
  body.addEventListener("htmx:sendError", ({ detail: { requestConfig, elt } }) => {
    if (requestConfig.verb === "get") flash({ text: "Can’t reach the server. Try again." }, "problem");
    else findOut(requestConfig.headers["Idempotency-Key"], elt);
  });
  body.addEventListener("htmx:responseError", ({ detail: { xhr, requestConfig, elt } }) => {
    // A proxy has answered, not the service.
    if (requestConfig.verb !== "get" && !xhr.getResponseHeader("X-Request-Id")) findOut(requestConfig.headers["Idempotency-Key"], elt);
  });
  const unknown = new Set(); // the elements whose forms have an outcome that is not known
  async function findOut(id, elt) {
    const form = elt.closest("form");
    unknown.add(form ?? elt);
    const message = flash({ text: "The server’s answer was lost, so it isn’t known whether your change was saved. Asking the server…" }, "problem");
    message.dataset.stay = "";
    const typed = form ? textsOf(form) : [], editor = form?.closest(".editing");
    const saved = (await ask(body.dataset.saved + "?form=" + id)) === "saved";
    const html = await ask(location.href);
    if (!saved) editor?.remove(); // it comes back with what the user has typed
    htmx.swap("#main", html, { swapStyle: "outerHTML" }, { select: "#main", eventInfo: { target: document.getElementById("main") } });
    if (form) setSending(form, false);
    message.remove();
    unknown.delete(form ?? elt);
    if (saved) return flash({ text: "Your change was saved." }, "info");
    if (editor) document.getElementById(editor.id)?.replaceWith(editor);
    for (const { id, value } of typed) {
      const field = document.getElementById(id);
      if (field) field.value = value;
    }
    flash({ text: "The server answers again, and this page shows what is saved. If your change is missing, make it again." }, "problem");
  }
  // ask returns the text of a response. It waits until the server answers.
  async function ask(url) {
    for (;;) {
      const response = await fetch(url).catch(() => null);
      if (response?.redirected) return location.assign(response.url), new Promise(() => {}); // the user has been signed out
      const text = response && response.status < 500 && (await response.text().catch(() => null));
      if (text) return text;
      await new Promise((resolve) => {
        setTimeout(resolve, 2000);
        addEventListener("online", resolve, { once: true });
      });
    }
  }
  const textsOf = (form) => [...form.elements].filter((field) => field.id && "value" in field).map(({ id, value }) => ({ id, value }));

  // While the browser is offline, a banner says so.
  const offline = document.getElementById("offline");
  const showConnection = () => (offline.hidden = navigator.onLine);
  for (const change of ["online", "offline"]) addEventListener(change, showConnection);
  showConnection();

  // The field for the time zone suggests those that the browser knows.
  const zones = document.getElementById("time-zones");
  if (zones) zones.append(...(Intl.supportedValuesOf?.("timeZone") ?? []).map((zone) => new Option(zone)));

  // The bar at the top shows that the server is working on the user's request, unless it responds at once.
  let busyTimer = 0;
  function showBusy(busy) {
    clearTimeout(busyTimer);
    if (busy) busyTimer = setTimeout(() => body.toggleAttribute("data-busy", true), 150);
    else body.removeAttribute("data-busy");
  }
  // A form is sent once, however often its button is pressed.
  const sending = new Set();
  function setSending(form, is) {
    if (is) {
      sending.add(form);
      form.setAttribute("aria-busy", "true");
    } else {
      sending.delete(form);
      form.removeAttribute("aria-busy");
    }
  }
  addEventListener("submit", (event) => {
    if (sending.has(event.target)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
  addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method !== "post") return; // htmx sends it
    identify(event.target);
    setSending(event.target, true);
    showBusy(true);
  });
  addEventListener("pageshow", () => {
    for (const form of sending) setSending(form, false);
    showBusy(false);
  });

  // The user's actions take precedence over live updates. Nothing may move under the pointer, so new rows wait until
  // the pointer rests, and other updates wait until its button is released. Updates also wait for the response to the
  // user's own request, because htmx would drop that response if an update replaced its target.
  let pointerDown = false;
  const userRequests = new Set();
  const userIsBusy = () => pointerDown || userRequests.size > 0 || unknown.size > 0 || !!document.querySelector("main .menu[open], main :popover-open");
  const isLive = (cause) => cause instanceof CustomEvent && cause.target === body;
  body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, elt, requestConfig } }) => {
    if (isLive(requestConfig.triggeringEvent)) return;
    userRequests.add(xhr);
    showBusy(true);
    const form = requestConfig.verb === "post" && elt.closest("form");
    if (form) {
      setSending(form, true);
      sent.set(xhr, textsOf(form));
    }
    xhr.addEventListener("loadend", () => {
      userRequests.delete(xhr);
      showBusy(userRequests.size > 0);
      if (form && !unknown.has(form)) setSending(form, false);
    });
  });
  // Text that the user types while a form is being sent survives the response, which replaces the form.
  const sent = new WeakMap(); // the fields of the forms that were sent, by request
  body.addEventListener("htmx:beforeSwap", ({ detail: { xhr } }) => {
    for (const field of sent.get(xhr) ?? []) {
      const now = document.getElementById(field.id)?.value;
      field.typed = now !== field.value ? now : undefined;
    }
  });
  body.addEventListener("htmx:afterSettle", ({ detail: { xhr } }) => {
    for (const { id, typed } of sent.get(xhr) ?? []) {
      const field = document.getElementById(id);
      if (field && typed !== undefined) field.value = typed;
    }
    sent.delete(xhr);
  });
  let pointerMovedAt = 0;
  addEventListener("pointerdown", () => (pointerDown = true), true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => (pointerDown = false)), true);
  addEventListener("pointermove", (event) => event.target.closest?.("table.list") && (pointerMovedAt = performance.now()), true);
  const pending = new Set(); // topics that have changed
  const dispatchedAt = new Map(); // time of the last event of each topic
  let dispatchTimer = 0;
  function dispatchPending() {
    const now = performance.now();
    for (const name of pending) {
      if (userIsBusy() || (/-created$|-placed$/.test(name) && now - pointerMovedAt < 1000)) continue;
      // These topics refresh whole pages, so they are dispatched at most every three seconds.
      if (/^(pets|orders|activity)$/.test(name) && now - (dispatchedAt.get(name) ?? -9999) < 3000) continue;
      pending.delete(name);
      dispatchedAt.set(name, now);
      body.dispatchEvent(new CustomEvent(name));
    }
    clearTimeout(dispatchTimer);
    if (pending.size > 0) dispatchTimer = setTimeout(dispatchPending, 200);
  }

  // The live stream sends the topics that have changed. Elements listen for an event with the name of their topic.
  let source = null;
  let position = body.dataset.after;
  let retryTimer = 0;
  const changedAt = new Map(); // time of the last change of each topic
  function connect() {
    clearTimeout(retryTimer);
    if (source || !body.dataset.live) return;
    source = new EventSource(body.dataset.live + "?after=" + position);
    source.onmessage = (event) => {
      position = event.lastEventId || position;
      for (const name of event.data.split(" ")) {
        changedAt.set(name, performance.now());
        pending.add(name);
      }
      dispatchPending();
    };
    source.addEventListener("ended", () => {
      source.close();
      location.assign(body.dataset.signIn + "?next=" + encodeURIComponent(location.pathname.slice(body.dataset.signIn.length - "/staff/sign-in".length) + location.search));
    });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return; // the browser reconnects
      disconnect();
      retryTimer = setTimeout(connect, 5000);
    };
  }
  function disconnect() {
    if (source) source.close();
    source = null;
  }
  // Browsers limit the connections to a server, so hidden pages close theirs.
  let hideTimer = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hideTimer);
    if (document.hidden) hideTimer = setTimeout(disconnect, 20000);
    else connect();
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  connect();

  // If a topic has changed since a request was sent, the response may be stale. The change is dispatched again, so
  // that the topic's elements reload.
  const requestedAt = new WeakMap();
  body.addEventListener("htmx:beforeRequest", (event) => requestedAt.set(event.detail.xhr, performance.now()));
  body.addEventListener("htmx:afterSettle", (event) => {
    const since = requestedAt.get(event.detail.xhr);
    for (const [name, at] of changedAt) {
      if (at > since) pending.add(name);
      if (performance.now() - at > 60000) changedAt.delete(name);
    }
    dispatchPending();
    requestedAt.delete(event.detail.xhr); // this event is raised for each swapped element, but one check is enough
  });

  // A live update must not replace a field that the user is editing, a button that is being pressed (the browser would
  // not complete the click) or the target of the user's request.
  body.addEventListener("htmx:beforeSwap", (event) => {
    const cause = event.detail.requestConfig.triggeringEvent;
    if (!isLive(cause)) return;
    if (userIsBusy()) {
      event.detail.shouldSwap = false;
      pending.add(cause.type); // reloads the element afterwards
      dispatchPending();
      return;
    }
    const field = document.activeElement;
    if (!field || !("defaultValue" in field) || field.closest("section.editing")) return;
    const typed = [...(field.form?.elements ?? [field])].some((f) => "defaultValue" in f && f.type !== "hidden" && f.value !== f.defaultValue);
    if (event.detail.target.contains(field) && typed) {
      event.detail.shouldSwap = false;
      flash({ text: "This has changed while you were typing. Reload the page to see the change." }, "problem");
    }
  });

  // A section of a profile that is being edited stays as it is while the page around it is replaced.
  let kept = [];
  body.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap, requestConfig } }) => {
    if (!shouldSwap) return;
    for (const editor of target.querySelectorAll("section.editing")) {
      if (editor.contains(requestConfig.elt)) continue; // the response to its own form replaces it
      const field = document.activeElement;
      const place = editor.contains(field) && { field, from: field.selectionStart, to: field.selectionEnd };
      kept.push({ editor, place });
      editor.remove();
    }
  });
  body.addEventListener("htmx:afterSwap", () => {
    for (const { editor, place } of kept.splice(0)) {
      document.getElementById(editor.id)?.replaceWith(editor);
      if (!place || !editor.isConnected) continue;
      place.field.focus({ preventScroll: true });
      if (typeof place.from === "number") place.field.setSelectionRange(place.from, place.to);
    }
  });

  // Count down to the end of holds.
  const serverAhead = Date.parse(body.dataset.now) - Date.now();
  function timeLeft(ms) {
    const s = Math.floor(ms / 1000), min = Math.floor(s / 60), h = Math.floor(min / 60);
    if (ms <= 0) return "Expired";
    if (s < 120) return s + " s";
    if (min < 60) return min + " min";
    if (h < 24) return h + " h " + (min % 60) + " min";
    return Math.floor(h / 24) + (h < 48 ? " day " : " days ") + (h % 24) + " h";
  }
  function refreshTimes(root) {
    for (const time of root.querySelectorAll("time.time-left")) {
      const remaining = Date.parse(time.dateTime) - Date.now() - serverAhead;
      time.textContent = timeLeft(remaining);
      time.classList.toggle("soon", remaining < 3600000);
    }
  }
  setInterval(() => refreshTimes(document), 1000);

  // On a phone, the tabs may be wider than the screen. Scroll to the current tab, and show whether there are more.
  function showMore(tabs) {
    tabs.toggleAttribute("data-more", tabs.scrollLeft + tabs.clientWidth < tabs.scrollWidth - 1);
  }
  addEventListener("resize", () => document.querySelectorAll(".filters .tabs").forEach(showMore));
  addEventListener("scroll", ({ target }) => target.matches?.(".filters .tabs") && showMore(target), { passive: true, capture: true });

  // Prepare the elements of the page, and those that htmx adds later.
  function enhance(root) {
    refreshTimes(root);
    for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
    for (const tabs of root.querySelectorAll(".filters .tabs")) {
      const current = tabs.querySelector("label:has(:checked), [aria-current]");
      if (current) tabs.scrollLeft += current.getBoundingClientRect().left - tabs.getBoundingClientRect().left - 32;
      showMore(tabs);
    }
  }
  enhance(document);
  body.addEventListener("htmx:afterSettle", (event) => enhance(event.target.isConnected ? event.target : document));

  // A question before an action that cannot be undone is a dialog. The answer closes it.
  body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => target.id === "question" && target.querySelector("dialog").showModal());
  addEventListener("submit", (event) => event.target.closest("#question dialog")?.close());
  body.addEventListener("click", (event) => event.target.closest("[data-close]")?.closest("dialog").close());

  // A popover in which something was changed opens again, so that the focus stays with the button that was pressed. So does one
  // with a question that was not answered.
  let popover = null;
  body.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig: { elt } } }) => {
    const open = elt.closest?.("main :popover-open");
    popover = open ? { id: open.id, focus: document.activeElement.id } : null;
  });
  function reopen() {
    if (!popover || document.querySelector("#question dialog[open]")) return;
    const again = document.getElementById(popover.id), button = document.getElementById(popover.focus);
    popover = null;
    if (!again) return;
    if (!again.matches(":popover-open")) again.showPopover();
    (button && !button.disabled ? button : again.querySelector("button")).focus();
  }
  body.addEventListener("htmx:afterSettle", reopen);
  addEventListener("close", reopen, true);
  addEventListener("submit", (event) => event.target.closest("#question dialog") && (popover = null), true);

  body.addEventListener("theme", ({ detail: { value } }) => {
    document.documentElement.dataset.theme = value;
    for (const button of document.querySelectorAll(".theme button")) button.setAttribute("aria-pressed", button.value === value);
  });

  body.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const secret = document.querySelector(button.dataset.copy);
    getSelection().selectAllChildren(secret);
    navigator.clipboard?.writeText(secret.textContent).then(() => flash({ text: "Copied." }, "info"), () => {});
  });

  // A link that ends in #print opens the page and its print dialog.
  body.addEventListener("click", (event) => event.target.closest("[data-print]") && print());
  if (location.hash === "#print") addEventListener("load", () => print());

  // Filters apply at once, and those that are not set are left out of the address.
  body.addEventListener("change", (event) => event.target.closest("form.filters:not([hx-get])")?.requestSubmit());
  body.addEventListener("htmx:configRequest", ({ detail: { elt, formData } }) => {
    if (!elt.matches("form.filters")) return;
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });

  // Ctrl-Enter saves what is being edited, also from a field with several lines.
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest?.("section.editing form")?.requestSubmit();
  });
  // A panel that opens puts the cursor into its first field.
  addEventListener("toggle", ({ target }) => target.matches("details.panel[open]") && target.querySelector("input:not([type=hidden])")?.focus(), true);
  // A link to a field, such as "Reserve" in a list, also puts the cursor there.
  if (location.hash) document.getElementById(location.hash.slice(1))?.focus();
})();
