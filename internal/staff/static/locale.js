// This script shows dates, times and numbers in the format of the reader's language and in the shop's time zone. It
// is loaded before the page is parsed and changes elements before they are painted, so that nothing moves.
"use strict";

(() => {
  const languages = navigator.languages.length > 0 ? [...navigator.languages] : undefined;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let zone = document.documentElement.dataset.zone || own;
  try {
    Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    zone = own; // a zone that this browser does not know
  }
  const clock = { hour: "numeric", minute: "2-digit" };
  const day = { year: "numeric", month: "short", day: "numeric" };
  // A reader elsewhere must see whose time it is. A zone may have several names, such as UTC and Etc/UTC, so what the
  // clocks show is compared, not the names.
  const clockIn = (timeZone) => new Intl.DateTimeFormat("en", { dateStyle: "short", timeStyle: "short", timeZone });
  const shopClock = clockIn(zone), ownClock = clockIn(own);
  function formats(options) {
    const here = new Intl.DateTimeFormat(languages, { ...options, ...clock, timeZone: zone });
    const elsewhere = new Intl.DateTimeFormat(languages, { ...options, ...clock, timeZone: zone, timeZoneName: "short" });
    return (at) => (shopClock.format(at) === ownClock.format(at) ? here : elsewhere).format(at);
  }
  const otherYear = formats(day);
  const thisYear = formats({ month: "short", day: "numeric" });
  const year = new Intl.DateTimeFormat("en", { year: "numeric", timeZone: zone });
  const exact = new Intl.DateTimeFormat(languages, { dateStyle: "full", timeStyle: "long", timeZone: zone });
  const date = new Intl.DateTimeFormat(languages, { ...day, timeZone: "UTC" });
  const shortDate = new Intl.DateTimeFormat(languages, { month: "short", day: "numeric", timeZone: "UTC" });
  const clockTime = new Intl.DateTimeFormat(languages, { ...clock, timeZone: zone });
  const number = new Intl.NumberFormat(languages);

  function price({ value, dataset: { currency }, textContent }) {
    try {
      return new Intl.NumberFormat(languages, { style: "currency", currency }).format(value);
    } catch {
      return textContent; // a currency that this browser does not know
    }
  }
  function text(element) {
    if (element.localName === "data") return element.dataset.currency ? price(element) : number.format(element.value);
    const at = new Date(element.dateTime);
    if (element.dataset.form === "short") return shortDate.format(at);
    if (element.dataset.form === "clock") {
      element.title = exact.format(at);
      return clockTime.format(at);
    }
    if (element.dateTime.length === 10) return date.format(at);
    element.title = exact.format(at);
    // A printed page may be read in another year, so it always shows the year.
    const short = year.format(at) === year.format(Date.now()) && !element.closest(".paper");
    return (short ? thisYear : otherYear)(at);
  }
  const selector = "time[datetime]:not(.time-left), data[value]";
  function localize(element) {
    const localized = text(element);
    if (element.textContent !== localized) element.textContent = localized;
  }
  // The parser may add the text of an element after the element itself, and even in parts, so texts are watched, too.
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const changed = target.nodeType === Node.TEXT_NODE ? target.parentElement : target;
      if (changed?.matches?.(selector)) localize(changed);
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        if (node.matches(selector)) localize(node);
        for (const element of node.querySelectorAll(selector)) localize(element);
      }
    }
  }).observe(document, { characterData: true, childList: true, subtree: true });
})();
