/* On a phone the parts of a task are tabs of one page. Wider screens show all of them at once, and the bar is not there. */
const bar = document.querySelector("[data-parts-bar]");
const tabs = bar ? [...bar.querySelectorAll("[data-shows]")] : [];

function show(chosen) {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
  document.querySelector("[data-shown]").dataset.shown = chosen.dataset.shows;
  document.querySelector(`[data-tab="${chosen.dataset.then}"]`)?.click();
}

function move(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  show(next);
  next.focus();
}

if (bar) {
  bar.setAttribute("role", "tablist");
  for (const tab of tabs) {
    tab.setAttribute("role", "tab");
    tab.addEventListener("click", () => show(tab));
  }
  bar.addEventListener("keydown", move);
  show(tabs.find((tab) => tab.dataset.then && window.location.hash === `#${tab.dataset.then}`) ?? tabs[0]);
}
