"use strict";

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

// stored reads and writes a storage that the browser may refuse.
const stored = (storage, name, value) => {
  try {
    if (value === undefined) return window[storage].getItem(name) ?? "";
    if (value === "") window[storage].removeItem(name);
    else window[storage].setItem(name, value);
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
  return value ?? "";
};

// Theme: the system decides until the reader does.

const themeButton = one("#theme");
const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const showTheme = () => themeButton.setAttribute("aria-pressed", isDark());
themeButton.addEventListener("click", () => {
  root.dataset.theme = stored("localStorage", "docs-theme", isDark() ? "light" : "dark");
  showTheme();
});
showTheme();

// Language of the samples: one choice for all of them.

const showLanguage = () => {
  for (const button of all("[data-choose]")) button.setAttribute("aria-pressed", button.dataset.choose === root.dataset.language);
};
for (const button of all("[data-choose]")) {
  button.addEventListener("click", () => {
    const before = button.getBoundingClientRect().top;
    root.dataset.language = stored("localStorage", "docs-language", button.dataset.choose);
    showLanguage();
    scrollBy(0, button.getBoundingClientRect().top - before); // samples above this one have changed their height
  });
}
showLanguage();

// Copy buttons.

const copy = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers offer the clipboard only over TLS and on this computer.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};
for (const block of all("pre:not(.answer pre)")) {
  const frame = document.createElement("div");
  frame.className = "copyable";
  block.replaceWith(frame);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await copy(block.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  frame.append(block, button);
}

// The key and the server. The key is kept in sessionStorage: this tab only, until it is closed.

let key = stored("sessionStorage", "docs-key");
const keyInput = one("#key"), keyNote = one("#key-note"), forget = one("#forget"), server = one("#server");
const pageBase = new URL(document.body.dataset.api, location).href; // the API of the service that sent this page
const ownBase = document.body.dataset.public || pageBase;
if (server) server.options[0].text = ownBase;
const fill = () => {
  for (const place of all(".fill-key")) place.textContent = key || "YOUR_KEY";
  for (const place of all(".fill-base")) place.textContent = server?.value || ownBase;
  keyInput.value = key;
  forget.hidden = !key;
  root.classList.toggle("has-key", !!key);
};
one("#key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = stored("sessionStorage", "docs-key", keyInput.value.trim());
  fill();
  keyNote.textContent = key ? "The samples and test panels use your key." : "No key.";
});
forget.addEventListener("click", () => {
  key = stored("sessionStorage", "docs-key", "");
  fill();
  keyNote.textContent = "The key is gone.";
  keyInput.focus();
});
server?.addEventListener("change", fill);
fill();

// Search: shows the entries of the contents that have every word in their title or, if there are none, in their text.

const search = one("#search");
const entries = all("#contents li").map((item) => {
  const title = (item.textContent + " " + one("a", item).href).toLowerCase();
  return { item, title, text: title + " " + item.dataset.words };
});
const visible = () => entries.filter((entry) => !entry.item.hidden);
const searched = () => search.value.toLowerCase().split(/[^\p{L}\p{N}_.:-]+/u).filter(Boolean);
search.addEventListener("input", () => {
  const words = searched();
  // A word may occur almost everywhere, so entries that have all words in their title win.
  const part = entries.some((entry) => words.every((word) => entry.title.includes(word))) ? "title" : "text";
  for (const entry of entries) entry.item.hidden = !words.every((word) => entry[part].includes(word));
  for (const section of all("#contents section")) section.hidden = words.length > 0 && !one("li:not([hidden])", section);
  const count = visible().length;
  one("#nothing").hidden = count > 0;
  one("#found").textContent = words.length ? count + " found" : "";
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  } else if (event.key === "Enter") {
    const found = visible();
    if (searched().length && found.length) one("a", found[0].item).click();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  one("details.contents").open = true;
  search.focus();
});

// The contents: closed on a phone, where they would hide the page, and with the place that is being read.

const contents = one("details.contents");
const phone = matchMedia("(max-width: 56rem)");
const showContents = () => { contents.open = !phone.matches; };
phone.addEventListener("change", showContents);
showContents();
contents.addEventListener("click", (event) => {
  if (phone.matches && event.target.closest("a")) contents.open = false;
});
const links = new Map(all('#contents a[href^="#"]').map((link) => [link.hash.slice(1), link]));
const inView = new Set();
const watcher = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) inView[isIntersecting ? "add" : "delete"](target);
  const current = all(".operation").find((operation) => inView.has(operation));
  if (!current) return;
  for (const link of links.values()) link.removeAttribute("aria-current");
  const link = links.get(current.id);
  link?.setAttribute("aria-current", "location");
  const nav = one("#contents"), place = link?.offsetTop - nav.offsetTop;
  if (link && (place < nav.scrollTop || place > nav.scrollTop + nav.clientHeight - 40)) nav.scrollTop = place - nav.clientHeight / 3;
}, { rootMargin: "-20% 0px -60% 0px" });
for (const operation of all(".operation")) watcher.observe(operation);

// Test panels.

// indented formats JSON without reading its numbers, because JavaScript would round ids beyond 2^53.
const indented = (json) => {
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  return json.trim().replace(/"(?:\\.|[^"\\])*"|[{[]\s*[}\]]|[{}[\]:,]|\s+/g, (token) => {
    switch (token[0]) {
      case "{": case "[":
        if (token.length > 1) return token[0] + token.at(-1);
        depth++;
        return token + line();
      case "}": case "]":
        depth--;
        return line() + token;
      case ",": return token + line();
      case ":": return ": ";
      case '"': return token;
      default: return "";
    }
  });
};

const longest = 200_000; // characters of a body that are shown

const requestOf = (form) => {
  const headers = new Headers(), query = new URLSearchParams();
  let path = form.dataset.path;
  for (const input of all("[data-in]", form)) {
    const values = (input.dataset.multiple === undefined ? [input.value] : input.value.split(",")).map((value) => value.trim()).filter(Boolean);
    for (const value of values) {
      if (input.dataset.in === "path") path = path.replace("{" + input.dataset.name + "}", encodeURIComponent(value));
      else if (input.dataset.in === "query") query.append(input.dataset.name, value);
      else headers.set(input.dataset.name, value);
    }
  }
  if (form.dataset.public === undefined) headers.set("Authorization", "Bearer " + key);
  const body = one("[data-body]", form)?.value || undefined;
  if (body !== undefined) headers.set("Content-Type", one("[data-examples]", form).selectedOptions[0].dataset.type);
  const base = server?.value || pageBase; // the public URL may be another origin, which would refuse requests from this page
  return [base + path + (query.size ? "?" + query : ""), { method: form.dataset.method, headers, body, cache: "no-store", credentials: "omit" }];
};

const send = async (form) => {
  const hint = one(".hint", form), answer = one(".answer", form.parentElement), button = one("button", form);
  if (form.dataset.public === undefined && !key) {
    hint.textContent = "Enter your API key at the top first.";
    keyInput.focus();
    return;
  }
  hint.textContent = "";
  button.disabled = true;
  const outcome = one(".outcome", answer), [headers, content] = all("pre code", answer);
  try {
    const [url, options] = requestOf(form);
    const start = performance.now();
    const response = await fetch(url, options);
    const text = await response.text();
    outcome.textContent = `${response.status} ${response.statusText} · ${Math.round(performance.now() - start)} ms`;
    outcome.dataset.ok = response.ok;
    headers.textContent = [...response.headers].map(([name, value]) => name + ": " + value).join("\n");
    const shown = response.headers.get("Content-Type")?.startsWith("application/json") ? indented(text) : text;
    content.textContent = shown.length > longest ? shown.slice(0, longest) + "\n… (shortened)" : shown || "(no body)";
  } catch (problem) {
    outcome.textContent = "The request could not be sent: " + problem.message;
    outcome.dataset.ok = false;
    headers.textContent = content.textContent = "";
  }
  answer.hidden = false;
  button.disabled = false;
};

for (const form of all(".try form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  one("[data-examples]", form)?.addEventListener("change", (event) => {
    one("[data-body]", form).value = event.target.value;
  });
}
