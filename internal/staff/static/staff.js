// What the pages need beyond htmx: live updates, flash messages, times left, the chart and keyboard shortcuts.
"use strict";

(() => {
  const body = document.body;

  // Flash messages: the server sends them in the HX-Trigger header, and htmx turns that into events.
  const flashes = document.getElementById("flashes");
  function flash(text, kind) {
    const message = document.createElement("p");
    message.className = kind;
    message.textContent = text;
    flashes.append(message);
    while (flashes.children.length > 4) flashes.firstChild.remove();
    setTimeout(() => message.remove(), kind === "problem" ? 15000 : 6000);
  }
  body.addEventListener("flash", (event) => flash(event.detail.value, "info"));
  body.addEventListener("problem", (event) => flash(event.detail.value, "problem"));
  // A live update may replace the element that sent a request before the response arrives. htmx then raises the
  // events of the response on the removed element, where nobody listens. So they are raised here.
  body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, elt } }) =>
    xhr.addEventListener("readystatechange", () => {
      if (xhr.readyState !== XMLHttpRequest.DONE || body.contains(elt)) return;
      const events = JSON.parse(xhr.getResponseHeader("HX-Trigger") ?? "{}");
      for (const [name, value] of Object.entries(events)) body.dispatchEvent(new CustomEvent(name, { detail: { value } }));
    }));
  body.addEventListener("htmx:sendError", () => flash("Can’t reach the server. Nothing was changed; try again.", "problem"));

  // Live updates come second to what the user does. Nothing may move under the pointer: new rows wait until it rests,
  // other updates until its button is released. They also wait for the response to the user's own request: if an update
  // replaced the target of that request, htmx would drop the response.
  let pointerDown = false;
  const userRequests = new Set();
  const userIsBusy = () => pointerDown || userRequests.size > 0;
  const isLive = (cause) => cause instanceof CustomEvent && cause.target === body;
  body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, requestConfig } }) => {
    if (isLive(requestConfig.triggeringEvent)) return;
    userRequests.add(xhr);
    xhr.addEventListener("loadend", () => userRequests.delete(xhr));
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
      if (/^(pets|orders)$/.test(name) && now - (dispatchedAt.get(name) ?? -9999) < 3000) continue; // these refresh whole pages
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

  // A response to a request from before a change may be stale: dispatch the change again, so that its elements reload.
  const requestedAt = new WeakMap();
  body.addEventListener("htmx:beforeRequest", (event) => requestedAt.set(event.detail.xhr, performance.now()));
  body.addEventListener("htmx:afterSettle", (event) => {
    const since = requestedAt.get(event.detail.xhr);
    for (const [name, at] of changedAt) {
      if (at > since) pending.add(name);
      if (performance.now() - at > 60000) changedAt.delete(name);
    }
    dispatchPending();
    requestedAt.delete(event.detail.xhr); // a response settles once per swapped element
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
    if (!field || !("defaultValue" in field)) return;
    if (event.detail.target.contains(field) && field.value !== field.defaultValue) {
      event.detail.shouldSwap = false;
      flash("Someone else changed this while you were typing. Reload the page to see the change.", "problem");
    }
  });

  // Count down to the end of holds.
  const serverAhead = Date.parse(body.dataset.now) - Date.now();
  function timeLeft(ms) {
    const s = Math.floor(ms / 1000), min = Math.floor(s / 60), h = Math.floor(min / 60);
    if (ms <= 0) return "Expired";
    if (s < 120) return s + " s";
    if (min < 60) return min + " min";
    if (h < 48) return h + " h " + (min % 60) + " min";
    return Math.floor(h / 24) + " days " + (h % 24) + " h";
  }
  function refreshTimes(root) {
    for (const time of root.querySelectorAll("time.time-left")) {
      const remaining = Date.parse(time.dateTime) - Date.now() - serverAhead;
      time.textContent = timeLeft(remaining);
      time.classList.toggle("soon", remaining < 3600000);
    }
  }
  setInterval(() => refreshTimes(document), 1000);

  // Count down the seconds until an animal is removed.
  setInterval(() => {
    for (const count of document.querySelectorAll(".countdown")) count.textContent = Math.max(0, Number(count.textContent) - 1);
  }, 1000);

  function drawChart(root) {
    const figure = root.querySelector(".chart");
    if (!figure || !window.uPlot) return;
    const data = JSON.parse(figure.dataset.chart);
    const colour = (name) => getComputedStyle(figure).getPropertyValue(name).trim();
    const axis = { stroke: colour("--pico-muted-color"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const day = new Intl.DateTimeFormat([...navigator.languages], { day: "numeric", month: "short", timeZone: "UTC" });
    const last = data.Times.length - 1;
    const bars = uPlot.paths.bars({ size: [0.42, 22], align: 1 });
    const barsLeft = uPlot.paths.bars({ size: [0.42, 22], align: -1 });
    const size = () => ({ width: figure.clientWidth, height: 220 });
    figure.replaceChildren();
    const chart = new uPlot({
      ...size(),
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC"),
      cursor: { y: false, drag: { x: false, y: false } },
      // Without a pointer over the chart, the legend shows the last day.
      hooks: { ready: [(u) => u.setLegend({ idx: last })], setCursor: [(u) => u.cursor.idx == null && u.setLegend({ idx: last })] },
      scales: { x: { range: (_, min, max) => [min - 43200, max + 43200] }, y: { range: (_, min, max) => [0, Math.max(max * 1.1, 4)] } },
      axes: [{ ...axis, values: (_, times) => times.map((t) => day.format(t * 1000)) }, { ...axis, values: (_, ns) => ns.map((n) => (Number.isInteger(n) ? n : "")), size: 45 }],
      series: [
        { label: "Day", value: (_, t) => (t === null ? "" : day.format(t * 1000)) },
        { label: "Arrivals", width: 0, stroke: colour("--arrivals"), fill: colour("--arrivals"), paths: barsLeft, points: { show: false } },
        { label: "Sales", width: 0, stroke: colour("--sales"), fill: colour("--sales"), paths: bars, points: { show: false } },
      ],
    }, [data.Times, data.Arrivals, data.Sales], figure);
    new ResizeObserver(() => chart.setSize(size())).observe(figure);
  }

  // Prepare the elements of the page, and those that htmx adds later.
  function enhance(root) {
    refreshTimes(root);
    drawChart(root);
    for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
  }
  enhance(document);
  body.addEventListener("htmx:afterSettle", (event) => enhance(event.target.isConnected ? event.target : document));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawChart(document));

  body.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const secret = document.querySelector(button.dataset.copy);
    getSelection().selectAllChildren(secret);
    navigator.clipboard?.writeText(secret.textContent).then(() => flash("Copied.", "info"), () => {});
  });

  // Escape cancels editing, or closes a menu.
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const cancel = event.target.closest?.("tr")?.querySelector(".cancel");
    if (cancel) cancel.click();
    else event.target.closest?.("details[open]")?.querySelector("summary")?.click();
  });
  for (const details of document.querySelectorAll("details.add-panel")) {
    details.addEventListener("toggle", () => details.open && details.querySelector("input")?.focus());
  }
})();
