/* Put the focus where the person continues: the error summary after a refused answer, else what the page marks. */
const FIELDS = "input:not([type=hidden]), select, textarea";
/* After an answer the next task opens: its heading comes first, not its form. */
const named = window.location.hash === "#title" ? document.getElementById("title") : null;
const marked = document.querySelector("[data-focus-first]") ?? named ?? document.querySelector("[data-focus]");
const target = marked?.matches("form") ? marked.querySelector(FIELDS) : marked;
if (target) {
  if (!target.matches("a, button, input, select, textarea")) target.tabIndex = -1;
  target.focus({ preventScroll: !target.hasAttribute("data-focus-first") });
}
