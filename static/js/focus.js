/* Put the focus where the person goes on: the error summary after a refused answer, else what the page marks. */
const FIELDS = "input:not([type=hidden]), select, textarea";
const marked = document.querySelector("[data-focus-first]") ?? document.querySelector("[data-focus]");
const target = marked?.matches("form") ? marked.querySelector(FIELDS) : marked;
if (target) {
  if (!target.matches("a, button, input, select, textarea")) target.tabIndex = -1;
  target.focus({ preventScroll: !target.hasAttribute("data-focus-first") });
}
