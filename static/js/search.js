/* One search over everything, in a dialog that Ctrl-K opens anywhere, also in a field. The list comes from the server as it is; arrows
   choose, Enter opens. Without this module the link leads to the page that has the same list. */
const WAIT = 200;
const dialog = document.querySelector("[data-search-dialog]");
const field = dialog?.querySelector("[data-search-all]");
const results = dialog?.querySelector("[data-search-results]");
let timer = 0;
let asked = 0;

const options = () => [...results.querySelectorAll("[role=option]")];
const chosen = () => results.querySelector('[role=option][aria-selected="true"]');

function choose(option) {
  for (const one of options()) one.setAttribute("aria-selected", String(one === option));
  if (!option) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

async function look() {
  const number = ++asked;
  const address = `${field.dataset.searchAll}?${new URLSearchParams({ q: field.value })}`;
  const answer = await fetch(address, { headers: { "X-Requested-With": "search" } }).catch(() => null);
  if (number !== asked || !answer?.ok || answer.redirected) return;
  results.innerHTML = await answer.text();
  field.setAttribute("aria-expanded", String(options().length > 0));
  choose(options()[0]);
}

function move(by) {
  const all = options();
  if (!all.length) return;
  choose(all[(all.indexOf(chosen()) + by + all.length) % all.length]);
}

function open(event) {
  const option = chosen();
  if (!option) return;
  if (event.ctrlKey || event.metaKey) window.open(option.href, "_blank", "noopener");
  else window.location.assign(option.href);
}

/* A search field would take the first Escape to empty itself. */
const KEYS = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: open, Escape: () => dialog.close() };

if (dialog) {
  let before = null;
  const show = () => {
    if (dialog.open || document.querySelector("dialog[open]")) return;
    before = document.activeElement;
    dialog.showModal();
    field.select();
    look();
  };
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    show();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-search-open]") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show();
  });
  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(look, WAIT);
  });
  field.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => before?.focus());
}
