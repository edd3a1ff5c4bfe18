// This script adds photos that are chosen, dropped, pasted or taken with a camera, and orders photos by dragging. Without
// it, a form sends the files.
"use strict";

(() => {
  const body = document.body;
  const longest = 1600; // the longer side of the largest file that the service keeps
  const form = () => document.getElementById("add-photos");
  const tell = (name, text) => body.dispatchEvent(new CustomEvent(name, { detail: { value: text } }));

  // With this script, buttons take the place of the field.
  function prepare() {
    for (const hint of document.querySelectorAll(".drop-hint")) hint.hidden = false;
    for (const tile of document.querySelectorAll("[data-photo]")) tile.draggable = true;
    if (!form()) return;
    form().classList.add("ready");
    form().querySelector("button").hidden = true;
    const [, camera] = form().querySelectorAll("label");
    camera.hidden = !matchMedia("(pointer: coarse)").matches;
    for (const label of form().querySelectorAll("label")) label.classList.add("button", "small");
  }
  prepare();
  body.addEventListener("htmx:afterSettle", prepare);

  // shrink returns a JPEG file that is as large as the service needs. A browser that can show HEIC files also converts them.
  // If the browser cannot read the image, the service says what is wrong with it.
  async function shrink(file) {
    let image;
    try {
      image = await createImageBitmap(file, { imageOrientation: "from-image" });
    } catch {
      return file;
    }
    const scale = Math.min(1, longest / Math.max(image.width, image.height));
    if (scale === 1 && file.size < 1e6 && /^image\/(jpeg|png|webp)$/.test(file.type)) return file;
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff"; // transparent pixels become white
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    const smaller = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.9));
    return smaller && smaller.size < Math.max(file.size, 15e6) ? new File([smaller], file.name, { type: "image/jpeg" }) : file;
  }

  // The progress is a message that stays until the last file has been sent.
  const status = document.createElement("section");
  status.className = "upload";
  const label = document.createElement("span");
  const bar = document.createElement("progress");
  bar.max = 100;
  bar.setAttribute("aria-label", "Progress");
  status.append(label, bar);

  function send(url, file, added) {
    return new Promise((done) => {
      const data = new FormData();
      data.append("added", added);
      data.append("file", file, file.name || "photo.jpg");
      const request = new XMLHttpRequest();
      request.open("POST", url);
      request.setRequestHeader("HX-Request", "true");
      request.setRequestHeader("HX-Current-URL", location.href);
      request.upload.addEventListener("progress", ({ loaded, total }) => {
        if (loaded < total) bar.value = (100 * loaded) / total;
        else bar.removeAttribute("value"); // sent; the service is still working
      });
      request.addEventListener("loadend", () => done(request));
      request.send(data);
    });
  }

  const waiting = []; // the files to add
  let busy = false;
  async function add(files) {
    const images = [...files].filter((file) => file.type.startsWith("image/") || /\.(heic|heif|jpe?g|png|webp)$/i.test(file.name));
    if (!form() || files.length === 0) return;
    if (images.length === 0) return tell("problem", "This is no photo.");
    const room = form().dataset.room - waiting.length;
    if (images.length > room) tell("problem", room === 1 ? "There is room for one more photo only." : `There is room for ${Math.max(room, 0)} more photos only.`);
    waiting.push(...images.slice(0, Math.max(room, 0)));
    if (busy || waiting.length === 0) return;
    busy = true;
    const { action, dataset: { topic } } = form();
    document.getElementById("flashes").append(status);
    let added = "", done = 0, last;
    const failed = [];
    while (waiting.length > 0) {
      label.textContent = `Adding photo ${done + 1} of ${done + waiting.length}…`;
      bar.removeAttribute("value");
      const request = await send(action, await shrink(waiting[0]), added);
      waiting.shift();
      done++;
      if (request.getResponseHeader("HX-Redirect")) return location.assign(request.getResponseHeader("HX-Redirect"));
      const events = JSON.parse(request.getResponseHeader("HX-Trigger") ?? "{}");
      if (events.flash) {
        last = events.flash;
        added = last.values.photos;
        body.dispatchEvent(new CustomEvent(topic));
      } else failed.push(events.problem ?? "Can’t reach the server. Try again.");
    }
    status.remove();
    busy = false;
    if (last) body.dispatchEvent(new CustomEvent("flash", { detail: last }));
    for (const text of new Set(failed)) tell("problem", text);
    body.dispatchEvent(new CustomEvent(topic));
  }

  body.addEventListener("change", ({ target }) => {
    if (target.type !== "file" || !target.closest("#add-photos")) return;
    add(target.files);
    target.value = "";
  });
  addEventListener("paste", (event) => {
    if (!form() || event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add(event.clipboardData.files);
  });
  addEventListener("beforeunload", (event) => busy && event.preventDefault());

  // Files can be dropped anywhere on the page. A photo that is dropped on another one takes its place.
  const hasFiles = (event) => event.dataTransfer.types.includes("Files");
  let dragged = null;
  const mark = (element) => {
    for (const other of document.querySelectorAll("[data-drop]")) if (other !== element) other.removeAttribute("data-drop");
    element?.setAttribute("data-drop", "");
  };
  addEventListener("dragstart", (event) => {
    const tile = event.target.closest?.("[data-photo]");
    if (!tile) return;
    dragged = tile.dataset.photo;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", tile.querySelector("img").alt);
  });
  addEventListener("dragend", () => {
    dragged = null;
    mark(null);
  });
  addEventListener("dragover", (event) => {
    if (dragged) {
      const tile = event.target.closest?.("[data-photo]");
      mark(tile?.dataset.photo !== dragged ? tile : null);
      if (tile) event.preventDefault();
    } else if (form() && hasFiles(event)) {
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      mark(document.getElementById("photos"));
    }
  });
  addEventListener("dragleave", (event) => event.relatedTarget || mark(null));
  addEventListener("drop", (event) => {
    const from = dragged && document.querySelector(`[data-photo="${dragged}"]`), to = event.target.closest?.("[data-photo]");
    mark(null);
    dragged = null;
    if (from && to) {
      event.preventDefault();
      move(from, to.dataset.position);
    } else if (form() && hasFiles(event)) {
      event.preventDefault();
      add(event.dataTransfer.files);
    }
  });
  function move(tile, position) {
    if (tile.dataset.position === position) return;
    const url = tile.querySelector("form").getAttribute("action");
    tile.querySelector("button").focus(); // the focus stays with the photo
    htmx.ajax("POST", url, { source: tile, target: "#pet-detail", swap: "outerHTML", values: { position, "was-position": tile.dataset.position } });
  }
})();
