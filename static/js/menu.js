/* Close an open menu by Escape, by a click beside it, or when another one opens. Menus are plain <details>. */
const open = () => document.querySelectorAll("details[data-menu][open]");

/* A menu that asks for a text is opened to type it. */
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.("details[data-menu][open]")) event.target.querySelector("[data-menu-focus]")?.focus();
}, true);

document.addEventListener("click", (event) => {
  for (const menu of open()) if (!menu.contains(event.target)) menu.open = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of open()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
