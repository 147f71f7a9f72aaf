/* Let a toast go after six seconds, unless it is looked at, and keep it off the page's own buttons. Without this module it stays
   until the next page. */
const LIFE = 6000;
const GAP = 8;

function keepClear(toasts, bar) {
  toasts.style.bottom = "";
  const toast = toasts.getBoundingClientRect();
  const acts = bar.getBoundingClientRect();
  if (toast.bottom > acts.top && toast.top < acts.bottom) toasts.style.bottom = `${window.innerHeight - acts.top + GAP}px`;
}

function letGo(toast) {
  let timer = window.setTimeout(() => toast.remove(), LIFE);
  const hold = () => window.clearTimeout(timer);
  const resume = () => {
    hold();
    timer = window.setTimeout(() => toast.remove(), LIFE);
  };
  toast.addEventListener("mouseenter", hold);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("mouseleave", resume);
  toast.addEventListener("focusout", resume);
}

function begin(toast) {
  const close = toast.querySelector("[data-toast-close]");
  close.hidden = false;
  close.addEventListener("click", () => toast.remove());
  letGo(toast);
}

for (const toast of document.querySelectorAll("[data-toast]")) begin(toast);

/* Show the toasts of an answer, a page or its text, in place of those that are there. */
export function show(answer) {
  const made = answer instanceof Document ? answer : new DOMParser().parseFromString(answer, "text/html");
  const place = document.querySelector(".wf-toasts");
  place.replaceChildren(...made.querySelectorAll("[data-toast]"));
  for (const toast of place.querySelectorAll("[data-toast]")) begin(toast);
}

const toasts = document.querySelector(".wf-toasts:has([data-toast], [data-sends])");
const bar = document.querySelector(".wf-bar");
if (toasts && bar) {
  keepClear(toasts, bar);
  for (const moved of ["scroll", "resize"]) window.addEventListener(moved, () => keepClear(toasts, bar), { passive: true });
}
