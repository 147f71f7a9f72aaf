/* Count what is missing while a long form is filled in: next to it, section by section, and above its buttons. The server counts by the same
   rules (engine/presentation/forms/sections.py): sections that may be left out and rows ask for nothing until they are begun. */
const nav = document.querySelector("[data-sections]");
const form = nav?.closest("form");

const isFilled = (field) => (field.type === "checkbox" || field.type === "radio" ? field.checked : field.value.trim() !== "");
const fieldsIn = (place) => [...place.querySelectorAll("input:not([type=hidden]), select, textarea")].filter((field) => field.name);
const isBegun = (place) => fieldsIn(place).some(isFilled) || place.querySelector("[data-kept-file]") !== null;

/* Return whether a field is asked for now. */
function counts(field) {
  if (field.closest("[data-off]")) return false;
  for (let place = field.closest("[data-optional-section]"); place; place = place.parentElement.closest("[data-optional-section]")) {
    if (!isBegun(place)) return false;
  }
  const line = field.closest("[data-line]");
  if (!line || isBegun(line)) return true;
  const box = line.closest("[data-lines]");
  return box.hasAttribute("data-needed-rows") && line === line.parentElement.firstElementChild && !isBegun(box);
}

/* Boxes of one question are one field: any of them will do. */
function isAnswered(field) {
  if (field.type === "file") return field.closest("[data-kind]").querySelector("[data-kept-file]") !== null || field.value !== "";
  if (field.type !== "checkbox" || field.dataset.kind === "boolean") return isFilled(field);
  return [...form.elements].some((other) => other.name === field.name && other.checked);
}

function needed() {
  const found = new Map();
  for (const field of form.querySelectorAll("[data-needed]")) {
    if (!found.has(field.name) && counts(field)) found.set(field.name, field);
  }
  return [...found.values()];
}

const isIn = (names, field) => names.some((name) => field.name === name || field.name.startsWith(`${name}.`));

function settleSection(link, fields) {
  const names = JSON.parse(link.dataset.section);
  const own = fields.filter((field) => isIn(names, field));
  const missing = own.filter((field) => !isAnswered(field)).length;
  const some = [...form.elements].filter((field) => field.name && field.type !== "hidden" && isIn(names, field));
  const files = some.length && some.every((field) => field.closest("[data-kind=file], [data-kind=files]"));
  const kept = files ? some[0].closest("[data-kind]").querySelectorAll("[data-kept-file]").length : 0;
  const begun = own.length > 0 || some.some(isFilled) || kept > 0;
  const words = nav.dataset;
  link.dataset.state = missing || !begun ? "open" : "done";
  link.querySelector("[data-section-words]").textContent = missing
    ? words.missing.replace("{n}", missing)
    : kept
      ? (kept === 1 ? words.file : words.files).replace("{n}", kept)
      : begun ? words.done : words.optional;
}

function settle() {
  const fields = needed();
  const missing = fields.filter((field) => !isAnswered(field));
  for (const link of nav.querySelectorAll("[data-section]")) settleSection(link, fields);
  const count = nav.querySelector("[data-missing-words]");
  count.dataset.missing = missing.length;
  count.textContent = missing.length
    ? nav.dataset.some.replace("{n}", missing.length).replace("{all}", fields.length)
    : nav.dataset.none;
  const bar = nav.querySelector("[data-missing-bar]");
  bar.max = fields.length || 1;
  bar.value = fields.length - missing.length;
  const link = form.querySelector("[data-missing-link]");
  if (!link) return;
  link.hidden = missing.length === 0;
  link.textContent = missing.length === 1 ? link.dataset.one : link.dataset.many.replace("{n}", missing.length);
  if (missing.length) link.href = `#${missing[0].id}`;
}

/* Mark the section that one is in. */
function markHere(event) {
  for (const link of nav.querySelectorAll("[data-section]")) {
    const here = isIn(JSON.parse(link.dataset.section), event.target);
    if (here) link.setAttribute("aria-current", "step");
    else if (event.target.name) link.removeAttribute("aria-current");
  }
}

/* A link to a field goes into it, so that one can type at once. */
function goTo(event) {
  const link = event.target.closest("[data-missing-link], [data-section]");
  const target = link && document.getElementById(link.hash.slice(1));
  if (!target) return;
  event.preventDefault();
  const field = target.matches("fieldset") ? (target.querySelector("input:not([type=hidden]), select, textarea") ?? target) : target;
  field.focus();
  field.closest(".wf-field, fieldset")?.scrollIntoView({ block: "center" });
}

if (form) {
  form.addEventListener("input", settle);
  form.addEventListener("change", settle);
  form.addEventListener("focusin", markHere);
  form.addEventListener("click", goTo);
  settle();
}
