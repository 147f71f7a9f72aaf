/* Select rows. The head of the list turns, in place, into what can be done with them, and says how many there are.
   Without this module the acts always show. */
const boxes = () => [...document.querySelectorAll("[data-choose]")];

/* Rows of one step can be answered together; of several they cannot, and the bar says so. */
function sayTogether(head, chosen) {
  const button = head.querySelector("[data-together]");
  if (!button || !chosen.length) return;
  const mixed = new Set(chosen.map((box) => box.dataset.step)).size > 1;
  const why = head.querySelector("[data-bulk-why]");
  button.disabled = mixed;
  why.toggleAttribute("data-wrong", mixed);
  why.textContent = mixed ? why.dataset.mixed : `${why.dataset.same} ${chosen[0].dataset.stepWord}`;
}

function show() {
  const head = document.querySelector("[data-bulk]");
  if (!head) return;
  const all = boxes();
  const chosen = all.filter((box) => box.checked).length;
  const words = head.querySelector("[data-bulk-count]");
  words.textContent = `${chosen} ${words.dataset.word}`;
  head.querySelector("[data-bulk-acts]").hidden = chosen === 0;
  sayTogether(head, all.filter((box) => box.checked));
  head.querySelector("[data-bulk-names]").hidden = chosen > 0;
  head.querySelector("[data-choose-none]").hidden = false;
  const every = head.querySelector("[data-choose-all]");
  every.hidden = false;
  every.checked = chosen === all.length;
  every.indeterminate = chosen > 0 && chosen < all.length;
}

function choose(on) {
  for (const box of boxes()) box.checked = on;
  show();
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-choose-all]")) choose(event.target.checked);
  else if (event.target.matches("[data-choose]")) show();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-choose-none]")) return;
  choose(false);
  document.querySelector("[data-choose-all]").focus();
});
document.addEventListener("htmx:afterSettle", show);
window.addEventListener("pageshow", show);
show();
