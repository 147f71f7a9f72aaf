/* Select rows. The head of the list turns, in place, into what can be done with them, and says how many there are. What is selected
   stays selected on the next page of the same list, until something is done with it. Without this module the acts always show. */
const boxes = () => [...document.querySelectorAll("[data-choose]")];
const head = () => document.querySelector("[data-bulk]");
const matching = () => head()?.querySelector("[data-choose-matching]");

/* One list's selection: which rows, and of which step each is. Other lists and other filters have their own. */
const place = () => `wf-chosen ${head()?.querySelector("[name=back]")?.value ?? ""}`;
const kept = () => new Map(JSON.parse(window.sessionStorage.getItem(place()) ?? "[]"));
const keep = (chosen) =>
  chosen.size ? window.sessionStorage.setItem(place(), JSON.stringify([...chosen])) : window.sessionStorage.removeItem(place());

function note() {
  const chosen = kept();
  for (const box of boxes()) {
    const { step, stepWord: word, amount, unit } = box.dataset;
    if (box.checked) chosen.set(box.value, { step, word, amount, unit });
    else chosen.delete(box.value);
  }
  keep(chosen);
  return chosen;
}

/* Rows of other pages travel with the form. */
function carry(chosen) {
  for (const old of head().querySelectorAll("[data-carried]")) old.remove();
  const here = new Set(boxes().map((box) => box.value));
  for (const id of chosen.keys()) {
    if (here.has(id)) continue;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "task", value: id });
    field.dataset.carried = "";
    head().append(field);
  }
}

/* Rows of one step can be answered together; of several they cannot, and the bar says so. */
function sayTogether(chosen) {
  const button = head().querySelector("[data-together]");
  if (!button || !chosen.size) return;
  const rows = [...chosen.values()];
  const mixed = new Set(rows.map((row) => row.step)).size > 1;
  const why = head().querySelector("[data-bulk-why]");
  button.disabled = mixed;
  why.toggleAttribute("data-wrong", mixed);
  why.textContent = mixed ? why.dataset.mixed : `${why.dataset.same} ${rows[0].word}`;
}

/* What the selected rows come to, where each has an amount and all have one currency. Of rows not read yet nothing is known. */
const CODES = { "€": "EUR", $: "USD", "£": "GBP", "¥": "JPY" };
function money(total, unit) {
  const style = CODES[unit] ? { style: "currency", currency: CODES[unit], currencyDisplay: "narrowSymbol" } : {};
  const written = new Intl.NumberFormat(document.documentElement.lang, { ...style, minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return CODES[unit] ? written.format(total) : `${written.format(total)} ${unit}`;
}
function saySum(chosen, every) {
  const place = head().querySelector("[data-bulk-sum]");
  if (!place) return;
  const rows = [...chosen.values()];
  const unit = rows[0]?.unit;
  place.hidden = every || rows.length < 2 || !unit || rows.some((row) => row.unit !== unit);
  if (place.hidden) return;
  const cents = rows.reduce((sum, row) => sum + Math.round(Number(row.amount) * 100), 0);
  place.textContent = place.dataset.word.replace("{sum}", money(cents / 100, unit));
}

/* Below the head: that other pages are meant too, or the offer to mean them. */
function sayPages(whole, every) {
  const line = document.querySelector("[data-bulk-line]");
  if (!line) return;
  line.hidden = !(whole || every);
  for (const part of line.querySelectorAll("[data-line]")) part.hidden = part.dataset.line !== (every ? "every" : "page");
  head().querySelector("[data-matching]").hidden = true;
}

function chooseMatching(on) {
  if (!matching()) return;
  matching().checked = on;
  show();
}

function show() {
  if (!head()) return;
  const all = boxes();
  const chosen = note();
  carry(chosen);
  const here = all.filter((box) => box.checked).length;
  const words = head().querySelector("[data-bulk-count]");
  const meant = matching()?.checked ?? false;
  words.textContent = meant ? words.dataset.every : `${chosen.size} ${words.dataset.word}`;
  saySum(chosen, meant);
  head().querySelector("[data-bulk-acts]").hidden = chosen.size === 0;
  sayTogether(chosen);
  head().querySelector("[data-bulk-names]").hidden = chosen.size > 0;
  head().querySelector("[data-choose-none]").hidden = false;
  const every = head().querySelector("[data-choose-all]");
  every.hidden = false;
  every.checked = here > 0 && here === all.filter((box) => !box.disabled).length;
  every.indeterminate = here > 0 && !every.checked;
  sayPages(every.checked, meant);
}

function restore() {
  const chosen = kept();
  for (const box of boxes()) if (chosen.has(box.value) && !box.disabled) box.checked = true;
  show();
}

function choose(on) {
  for (const box of boxes()) box.checked = on && !box.disabled;
  if (!on) {
    keep(new Map());
    if (matching()) matching().checked = false;
  }
  show();
}

/* Ctrl-A selects the page, pressed again all that match. */
function chooseMore() {
  const all = boxes().filter((box) => !box.disabled);
  if (all.some((box) => !box.checked)) choose(true);
  else chooseMatching(true);
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-choose-all]")) choose(event.target.checked);
  else if (event.target.matches("[data-choose-matching]")) show();
  else if (event.target.matches("[data-choose]")) {
    if (matching() && !event.target.checked) matching().checked = false;
    show();
  }
});
document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-choose-more]")) chooseMatching(true);
  if (event.target.closest?.("[data-choose-page]")) {
    keep(new Map());
    chooseMatching(false);
  }
  if (!event.target.closest?.("[data-choose-none]")) return;
  choose(false);
  document.querySelector("[data-choose-all]").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "a" || !(event.ctrlKey || event.metaKey) || !boxes().length) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
  if (document.querySelector("details[data-menu][open], dialog[open]")) return;
  event.preventDefault();
  chooseMore();
});
document.addEventListener("submit", (event) => {
  if (event.target === head()) keep(new Map());
});
document.addEventListener("htmx:afterSettle", restore);
window.addEventListener("pageshow", restore);
restore();
