// Make what Unfold draws accessible: hide its icons, which are words of a font, from screen readers, and turn everything
// clickable into a named button that the keyboard reaches.

{
  const ICON = ".material-symbols-outlined";
  const CLICKABLE = "[x-on\\:click]:not(button, input, select, textarea, label, a[href], template, [data-reach])";
  const NAMES = { dock_to_right: "Show or hide the navigation", more_horiz: "More", unfold_more: "More" };

  const wordsOf = (part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll(ICON).forEach((icon) => icon.remove());
    return part.matches(ICON) ? "" : copy.textContent.trim();
  };

  const named = (part) => part.title || part.getAttribute("aria-label") || wordsOf(part);

  const nameOf = (drawn) => NAMES[drawn] ?? drawn.charAt(0).toUpperCase() + drawn.slice(1).replaceAll("_", " ");

  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.currentTarget.click();
  };

  // A part without words and without an icon is a backdrop and needs no button.
  const makeButton = (part) => {
    if (!wordsOf(part) && !part.matches(ICON) && !part.querySelector(ICON)) return;
    part.dataset.reach = "";
    part.tabIndex = 0;
    part.setAttribute("role", "button");
    part.addEventListener("keydown", press);
  };

  const silence = (icon) => {
    const holder = icon.closest("button, a, [role=button]");
    if (holder && !named(holder)) holder.setAttribute("aria-label", nameOf(icon.textContent.trim()));
    if (holder !== icon) icon.setAttribute("aria-hidden", "true");
  };

  const makeAccessible = (root) => {
    root.querySelectorAll(CLICKABLE).forEach(makeButton);
    root.querySelectorAll(`${ICON}:not([aria-label], [aria-hidden])`).forEach(silence);
  };

  document.addEventListener("DOMContentLoaded", () => {
    makeAccessible(document);
    const later = (changes) => changes.forEach(({ target, addedNodes }) => addedNodes.length && makeAccessible(target));
    new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
  });
}
