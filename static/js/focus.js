/* Put the focus where the person goes on: the error summary after a refused answer, else what the page marks. */
const target = document.querySelector("[data-focus-first]") ?? document.querySelector("[data-focus]");
if (target) {
  if (!target.matches("a, button, input, select, textarea")) target.tabIndex = -1;
  target.focus({ preventScroll: !target.hasAttribute("data-focus-first") });
}
