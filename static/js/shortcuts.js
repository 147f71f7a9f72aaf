/* Single-key shortcuts. They never fire in a field or with a modifier, and may be switched off (WCAG 2.1.4);
   the dialog lists only those that work on this page. */
const KEPT = "wf-shortcuts";
const dialog = document.querySelector("[data-shortcuts]");
const opener = document.querySelector("[data-shortcuts-open]");
const choice = dialog?.querySelector("[data-shortcuts-on]");

const switchedOn = () => window.localStorage.getItem(KEPT) !== "off";
const rows = () => [...document.querySelectorAll("[data-row]")];
const press = (selector) => document.querySelector(selector)?.click();

function move(by) {
  const all = rows();
  if (!all.length) return;
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + by, 0), all.length - 1);
  all[next].querySelector("[data-row-link]").focus();
}

function claim() {
  const row = document.activeElement?.closest("[data-row]");
  (row ? row.querySelector("[data-claim]") : document.querySelector("[data-claim]:not([data-row] *)"))?.click();
}

const FIRST_FIELD = "#answer input:not([type=hidden]), #answer select, #answer textarea";

const ACTS = {
  j: () => move(1),
  k: () => move(-1),
  c: claim,
  r: () => press("[data-release]"),
  x: () => document.activeElement?.closest("[data-row]")?.querySelector("[data-choose]")?.click(),
  e: () => (document.querySelector(FIRST_FIELD) ?? document.querySelector("[data-first-outcome]"))?.focus(),
  m: () => document.querySelector("[data-comment]")?.focus(),
  a: () => press("[data-acts] > summary"),
  n: () => press("[data-next]"),
  u: () => press("[data-back]"),
  w: () => press("[data-why] > summary"),
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => dialog?.showModal(),
};

const inField = (element) => element.matches("input:not([type=checkbox]), select, textarea, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const first = document.querySelector("[data-first-outcome]");
    if (first) {
      event.preventDefault();
      first.click();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || inField(event.target) || dialog?.open || !switchedOn()) return;
  const act = ACTS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

if (dialog && opener) {
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  choice.checked = switchedOn();
  choice.addEventListener("change", () => window.localStorage.setItem(KEPT, choice.checked ? "on" : "off"));
  for (const line of dialog.querySelectorAll("[data-needs]")) line.hidden = !document.querySelector(line.dataset.needs);
}
