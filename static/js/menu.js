/* Close an open menu by Escape, by a click outside, or when another one opens. Menus are plain <details>. */
const TEXT = "input:not([type=checkbox], [type=radio]), textarea";
const FIELDS = "input:not([type=hidden], [type=radio]), select, textarea";
const STOPS = "summary, a[href], button, input:not([type=hidden]), select, textarea";
const open = () => document.querySelectorAll("details[data-menu][open]");

/* A menu that asks for a text is opened to type it; one that asks for several things, in the first field that is empty. */
function begin(menu) {
  if (!menu.hasAttribute("data-menu-first")) return menu.querySelector("[data-menu-focus]")?.focus();
  const fields = [...menu.querySelectorAll(FIELDS)].filter((one) => one.checkVisibility());
  (fields.find((one) => one.getAttribute("aria-invalid")) ?? fields.find((one) => one.value.trim() === "") ?? fields[0])?.focus();
}

document.addEventListener("toggle", (event) => {
  if (event.target.matches?.("details[data-menu][open]")) begin(event.target);
}, true);
for (const menu of document.querySelectorAll("details[data-menu][data-menu-first][open]")) begin(menu);

/* What closes a menu from within leads back to its button; without this module it is a link to the page. */
for (const way of document.querySelectorAll("details[data-menu] [data-menu-close]")) {
  way.hidden = false;
  way.addEventListener("click", (event) => {
    event.preventDefault();
    const menu = way.closest("details[data-menu]");
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

document.addEventListener("click", (event) => {
  for (const menu of open()) if (!menu.contains(event.target)) menu.open = false;
});

/* Escape leaves the field one types in; pressed again it closes the menu and goes back to its button. */
function leave(menu, event) {
  event.preventDefault();
  if (event.target.matches(TEXT) && menu.contains(event.target)) return event.target.blur();
  menu.open = false;
  menu.querySelector("summary").focus();
}

/* Tab stays inside while a menu is open. */
function stay(menu, event) {
  const stops = [...menu.querySelectorAll(STOPS)].filter((one) => one.checkVisibility() && !one.disabled);
  const edge = event.shiftKey ? stops[0] : stops.at(-1);
  if (document.activeElement !== edge) return;
  event.preventDefault();
  (event.shiftKey ? stops.at(-1) : stops[0]).focus();
}

document.addEventListener("keydown", (event) => {
  const menu = [...open()].at(-1);
  if (!menu) return;
  if (event.key === "Escape") leave(menu, event);
  if (event.key === "Tab" && menu.contains(document.activeElement)) stay(menu, event);
});
