/* Single-key shortcuts. They never fire in a field or with a modifier, and may be switched off for a person (WCAG 2.1.4);
   the dialog lists only those that work on this page. */
const TWO_KEYS_WITHIN = 1500;
const dialog = document.querySelector("[data-shortcuts]");
const opener = document.querySelector("[data-shortcuts-open]");
const choice = dialog?.querySelector("[data-shortcuts-on]");

const switchedOn = () => !choice || choice.checked;
const rows = () => [...document.querySelectorAll("[data-row]")];
const press = (selector) => document.querySelector(selector)?.click();
const focusedRow = () => document.activeElement?.closest("[data-row]");

/* Roving focus: of all rows one is in the order of Tab, the one that was last visited. */
function rove(row) {
  const links = document.querySelectorAll("[data-row] [data-row-link]");
  for (const link of links) link.tabIndex = row.contains(link) ? 0 : -1;
}

/* On a list the next row, on a task the next task of its list. */
function move(by) {
  const all = rows();
  if (!all.length) return press(by > 0 ? "[data-task-after]" : "[data-task-before]");
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + by, 0), all.length - 1);
  rove(all[next]);
  all[next].querySelector("[data-row-link]").focus();
}

/* In a row its own button is meant, else the page's. */
function pressHere(mark) {
  const row = focusedRow();
  const found = row ? row.querySelector(mark) : [...document.querySelectorAll(mark)].find((one) => !one.closest("[data-row]"));
  if (found) found.click();
  else if (row) open(row, mark);
}

/* What a row cannot do by itself its page can: go there, and do it on arrival. */
const ON_ARRIVAL = {
  "[data-release]": "release",
  "[data-snooze]": "snooze",
  "[data-first-outcome]": "answer",
  "#choose-assign": "assign",
  "#choose-delegate": "delegate",
  "#choose-ask": "ask",
  "[data-hand-over]": "hand_over",
};

function open(row, mark) {
  const link = row.querySelector("[data-row-link]");
  if (ON_ARRIVAL[mark] && link?.href.includes("/tasks/")) window.location.assign(`${link.href}#${ON_ARRIVAL[mark]}`);
}

const FIRST_FIELD = "#answer input:not([type=hidden]), #answer select, #answer textarea";

/* On a phone the parts of a page are tabs, next to the form comments and history are: show the part before its field gets the focus. */
function showPart(name) {
  press(`[data-shows="${name}"]`);
}

function comment() {
  showPart("comments");
  press('[data-tab="comments-tab"]');
  document.querySelector("[data-comment]")?.focus();
}

function why() {
  const box = document.querySelector("[data-why]");
  const wasHidden = box && !box.checkVisibility();
  showPart("where");
  if (wasHidden) box.open = true;
  else press("[data-why] > summary");
}

function answer() {
  if (document.querySelector("[data-choose]:checked")) return press("[data-together]");
  if (focusedRow()) return open(focusedRow(), "[data-first-outcome]");
  showPart("task");
  (document.querySelector(FIRST_FIELD) ?? document.querySelector("[data-first-outcome]"))?.focus();
}

/* Open the menu that has a field, with the focus in the field. */
function openMenu(field, inside = "") {
  if (focusedRow()) return open(focusedRow(), field);
  const found = document.querySelector(`${field} ${inside}`);
  const menu = found?.closest("details[data-menu]");
  if (!menu) return;
  menu.open = true;
  found.focus();
}

/* Open the dialog on a choice; it puts the focus into its first empty field itself (menu.js). */
function handOver(field = "[data-hand-over]") {
  if (focusedRow()) return open(focusedRow(), field);
  const found = document.querySelector(field);
  if (!found) return;
  if (found.matches("input")) found.checked = true;
  found.closest("details[data-menu]").open = true;
}

const snooze = () => openMenu("[data-snooze]", "button");

const ACTS = {
  j: () => move(1),
  k: () => move(-1),
  c: () => pressHere("[data-claim]"),
  r: () => pressHere("[data-release]"),
  x: () => focusedRow()?.querySelector("[data-choose]")?.click(),
  e: answer,
  m: comment,
  h: () => handOver(),
  a: () => handOver("#choose-assign"),
  d: () => handOver("#choose-delegate"),
  i: () => handOver("#choose-ask"),
  z: snooze,
  n: () => press("[data-next]"),
  u: () => press("[data-back]"),
  w: why,
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => dialog?.showModal(),
};

/* Each other answer has its number; where it needs a comment, that is asked for first. */
function answerNumbered(number) {
  const outcome = document.querySelector(`[data-outcome-key="${number}"]`);
  if (outcome) send(outcome);
  return Boolean(outcome);
}

function send(outcome) {
  const comment = missing(outcome);
  const section = outcome.matches("[data-first-outcome]") && emptySection();
  if (comment) comment.focus();
  else if (section) leadTo(section);
  else outcome.click();
}

const PLACES = { m: "mine", a: "available" };
let afterG = 0;

function goTo(key) {
  const place = PLACES[key];
  if (place) press(`[data-nav="${place}"]`);
  return Boolean(place);
}

/* A comment that this outcome cannot do without is asked for before anything is sent. */
function missing(outcome) {
  const comment = document.getElementById(outcome.dataset.needs ?? "");
  return comment?.value.trim() === "" ? comment : null;
}

/* A section that may be left out, but asks for fields once it is begun: who sends by keys is led there once before it goes without. */
const emptySection = () =>
  [...document.querySelectorAll("#answer [data-optional-section]")].find((section) => {
    const fields = [...section.querySelectorAll("input:not([type=hidden]), select, textarea")].filter((field) => field.checkVisibility());
    const needed = fields.some((field) => field.hasAttribute("data-needed"));
    return needed && !section.dataset.passed && fields.every((field) => (field.type === "checkbox" ? !field.checked : field.value.trim() === ""));
  });

function leadTo(section) {
  section.dataset.passed = "1";
  section.querySelector("[data-needed]").focus();
}

/* While a popover is open, single keys belong to it: typing a name must never act on a row behind it. */
const popoverOpen = () => document.querySelector("details[data-menu][open], dialog[open], [popover]:popover-open");

const inField = (element) => element.matches("input:not([type=checkbox]), select, textarea, [contenteditable]");

/* Ctrl-Enter sends the form one is in: an answer from the page or its form, a comment from the field of the comment. */
function sendByKeys(event) {
  const handing = event.target.closest("[data-hand-over]")?.querySelector("#hand-over-form");
  if (handing) {
    event.preventDefault();
    return handing.requestSubmit();
  }
  if (popoverOpen()) return;
  const other = event.target.closest("form");
  const first = document.querySelector("[data-first-outcome]");
  if (inField(event.target) && other && other.id !== "answer") {
    event.preventDefault();
    other.requestSubmit();
  } else if (first) {
    event.preventDefault();
    send(first);
  }
}

/* Escape leaves a field, closes a popover (menu.js), clears a selection, in this order: one of them for one press. */
function leave(event) {
  if (event.defaultPrevented || popoverOpen()) return;
  if (inField(event.target)) event.target.blur();
  else if (document.querySelector("[data-choose]:checked")) press("[data-choose-none]");
}

/* What a toast offers to undo; in a field the browser's own undo is meant. */
function undo(event) {
  const offered = [...document.querySelectorAll(".wf-toasts [data-act=undo]:not(:disabled)")].at(-1);
  if (!offered || inField(event.target) || popoverOpen()) return;
  event.preventDefault();
  offered.click();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) return undo(event);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return sendByKeys(event);
  if (event.key === "Escape") return leave(event);
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (inField(event.target) || popoverOpen() || !switchedOn()) return;
  const second = Date.now() - afterG < TWO_KEYS_WITHIN;
  afterG = event.key === "g" ? Date.now() : 0;
  if (second && goTo(event.key)) {
    event.preventDefault();
    return;
  }
  if (/^[2-9]$/.test(event.key) && answerNumbered(event.key)) event.preventDefault();
  const act = ACTS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.("[data-row]");
  if (row) rove(row);
});

const ARRIVALS = {
  "#hand_over": () => handOver(),
  "#assign": () => handOver("#choose-assign"),
  "#delegate": () => handOver("#choose-delegate"),
  "#ask": () => handOver("#choose-ask"),
  "#snooze": snooze,
  "#answer": answer,
  "#release": () => document.querySelector("[data-release]")?.focus(),
};
ARRIVALS[window.location.hash]?.();

const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);

if (dialog && opener) {
  opener.hidden = false;
  let before = null;
  const show = dialog.showModal.bind(dialog);
  dialog.showModal = () => {
    before = document.activeElement;
    for (const line of dialog.querySelectorAll("[data-needs]")) line.hidden = !document.querySelector(line.dataset.needs);
    for (const group of dialog.querySelectorAll("[data-keys]")) group.hidden = !group.querySelector("[data-key]:not([hidden])");
    show();
  };
  dialog.addEventListener("close", () => before?.focus());
  opener.addEventListener("click", () => dialog.showModal());
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  choice.addEventListener("change", () => {
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? cookie("csrftoken");
    const body = new URLSearchParams({ on: choice.checked ? "1" : "0", csrfmiddlewaretoken: token });
    fetch(choice.dataset.shortcutsOn, { method: "POST", body, keepalive: true });
  });
}
