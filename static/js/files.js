/* Files of a form: dropped, pasted or chosen, each sent at once with its progress, and shown in the list. Without this module the file input of
   each field is sent with the form. */
const zones = [...document.querySelectorAll("[data-drop-zone]")];
const MEGABYTE = 1024 * 1024;
const LANGUAGE = document.documentElement.lang || "en";

const sizeWords = (size) =>
  size >= MEGABYTE
    ? `${(size / MEGABYTE).toLocaleString(LANGUAGE, { maximumSignificantDigits: 3 })} MB`
    : `${Math.max(Math.floor(size / 1024), 1)} KB`;
const fill = (words, facts) => words.replace(/\{(\w+)\}/g, (_all, name) => facts[name]);
const inputOf = (zone) => zone.querySelector("input[type=file]");

function tell(field) {
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/* Sending: one request for each file, so that each has its own progress and its own refusal. */
function send(field, file, row) {
  const request = new XMLHttpRequest();
  const form = field.closest("form");
  const body = new FormData();
  for (const name of ["csrfmiddlewaretoken", "once", "whose"]) {
    const known = form.elements.namedItem(name);
    if (known) body.append(name, known.value);
  }
  body.append("file", file);
  request.open("POST", field.dataset.upload);
  request.setRequestHeader("X-Requested-With", "upload");
  request.responseType = "json";
  request.upload.addEventListener("progress", (event) => {
    const percent = Math.round((100 * event.loaded) / (event.total || 1));
    row.querySelector("[data-drop-progress]").value = percent;
    row.querySelector("[data-drop-size]").textContent = `${percent} % ${fill(field.dataset.of, { size: sizeWords(file.size) })}`;
  });
  request.addEventListener("load", () => {
    if (request.status === 201 && request.response) added(field, row, request.response);
    else refused(field, row, request.response?.words ?? field.dataset.failed);
  });
  request.addEventListener("error", () => refused(field, row, field.dataset.failed));
  row.abort = () => request.abort();
  request.send(body);
}

function say(field, words) {
  field.querySelector("[data-drop-said]").textContent = words;
}

function added(field, row, file) {
  const kept = row.querySelector("input[type=hidden]");
  kept.value = file.name;
  kept.disabled = false;
  row.dataset.file = file.name;
  row.dataset.remove = file.remove;
  row.removeAttribute("data-sending");
  row.querySelector("[data-drop-progress]").remove();
  row.querySelector("[data-drop-size]").textContent = file.size;
  const name = document.createElement("a");
  name.className = "wf-file__name";
  name.textContent = file.name;
  name.href = file.look ? `${file.address}?show` : file.address;
  if (file.look) Object.assign(name, { target: "_blank", rel: "noopener" });
  row.querySelector("[data-drop-name]").replaceWith(name);
  if (file.look === "picture") {
    const picture = Object.assign(document.createElement("img"), { className: "wf-file__thumb", src: `${file.address}?show`, alt: "" });
    row.querySelector(".wf-file__thumb").replaceWith(picture);
  }
  const remove = row.querySelector("[data-drop-remove]");
  remove.setAttribute("aria-label", fill(remove.dataset.label, { name: file.name }));
  say(field, fill(field.dataset.added, { name: file.name }));
  tell(inputOf(field));
}

/* What was refused stays in the list with its reason, until it is taken away. */
function refused(field, row, words) {
  row.removeAttribute("data-sending");
  row.removeAttribute("data-kept-file");
  row.setAttribute("data-refused", "");
  row.querySelector("[data-drop-progress]")?.remove();
  row.querySelector("[data-drop-size]").textContent = "";
  const reason = document.createElement("span");
  reason.className = "wf-file__reason";
  reason.textContent = words;
  row.querySelector("[data-drop-name]").replaceWith(reason);
  say(field, words);
}

function add(field, files) {
  const list = field.querySelector("[data-drop-list]");
  const chosen = field.dataset.kind === "file" ? files.slice(-1) : files;
  if (field.dataset.kind === "file") for (const row of [...list.children]) remove(row);
  for (const file of chosen) {
    const row = field.querySelector("[data-drop-row]").content.firstElementChild.cloneNode(true);
    row.setAttribute("data-sending", "");
    row.querySelector("[data-drop-name]").textContent = file.name;
    row.querySelector("[data-drop-size]").textContent = sizeWords(file.size);
    const button = row.querySelector("[data-drop-remove]");
    button.setAttribute("aria-label", fill(button.dataset.label, { name: file.name }));
    list.append(row);
    send(field, file, row);
  }
  inputOf(field).value = "";
}

function remove(row) {
  const field = row.closest("[data-drop]");
  row.abort?.();
  if (row.dataset.remove) {
    const token = field.closest("form").elements.namedItem("csrfmiddlewaretoken").value;
    fetch(row.dataset.remove, { method: "POST", body: new URLSearchParams({ csrfmiddlewaretoken: token }), keepalive: true });
  }
  row.remove();
  tell(inputOf(field));
  inputOf(field).focus();
}

/* Files of a task, besides its fields, are added by the form's own button. */
function sendWithForm(zone, files) {
  const input = inputOf(zone);
  if (files) {
    const held = new DataTransfer();
    for (const file of files) held.items.add(file);
    input.files = held.files;
  }
  zone.parentElement.querySelector("button[type=submit]").click();
}

function take(zone, files) {
  if (!files.length) return;
  const field = zone.closest("[data-drop][data-upload]");
  if (field) add(field, files);
  else if (zone.closest("[data-drop-send]")) sendWithForm(zone, files);
}

for (const zone of zones) {
  const mark = (on) => zone.toggleAttribute("data-over", on);
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  zone.addEventListener("dragleave", () => mark(false));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    take(zone, [...event.dataTransfer.files]);
  });
  inputOf(zone).addEventListener("change", (event) => {
    if (event.target.files.length) take(zone, [...event.target.files]);
  });
}

/* What is pasted goes to the field one is in, else to the first that takes files. */
document.addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  const zone = event.target.closest?.("[data-drop]")?.querySelector("[data-drop-zone]") ?? zones.find((one) => one.checkVisibility());
  if (!files.length || !zone) return;
  event.preventDefault();
  take(zone, files);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-drop-remove]");
  if (!button) return;
  event.preventDefault();
  remove(button.closest("li"));
});
