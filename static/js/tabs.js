/* Show one part at a time. Without this module all parts are shown one below the other, each with its heading. */
function show(tabs, chosen) {
  for (const tab of tabs) {
    const on = tab === chosen;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.dataset.tab).toggleAttribute("data-off", !on);
  }
}

function move(tabs, event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  show(tabs, next);
  next.focus();
}

for (const set of document.querySelectorAll("[data-tabs]")) {
  const bar = set.querySelector("[data-tabs-bar]");
  const tabs = [...bar.querySelectorAll("[data-tab]")];
  bar.setAttribute("role", "tablist");
  for (const tab of tabs) {
    const part = document.getElementById(tab.dataset.tab);
    tab.id ||= `${part.id}-button`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", part.id);
    part.setAttribute("role", "tabpanel");
    part.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => show(tabs, tab));
  }
  bar.addEventListener("keydown", (event) => move(tabs, event));
  const wanted = tabs.find((tab) => window.location.hash === `#${tab.dataset.tab}`);
  show(tabs, wanted ?? tabs[0]);
}
