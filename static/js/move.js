/* Move tasks of a team: say what the receiver will have, and let rows be dragged onto a person or a queue. Without this module the
   boxes, the choice of a person and the buttons do the same. */
const form = () => document.querySelector("form[data-move]");
const chosen = () => [...document.querySelectorAll("[data-choose]:checked")];

function sayAfter() {
  const select = form()?.querySelector("[data-move-to]");
  if (!select) return;
  const words = form().querySelector("[data-move-after]");
  const open = Number(select.selectedOptions[0]?.dataset.open ?? 0);
  const number = chosen().length;
  words.textContent = number && select.value ? `${open} → ${open + number}` : "";
}

/* A row that is not selected is dragged alone; a selected one takes the others with it. */
function take(row, event) {
  const box = row.querySelector("[data-choose]");
  if (!box.checked) {
    for (const other of chosen()) other.checked = false;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }
  event.dataTransfer.setData("text/plain", row.dataset.task);
  event.dataTransfer.effectAllowed = "move";
  for (const one of chosen()) one.closest("[data-drag]")?.setAttribute("data-dragged", "");
}

function release() {
  for (const one of document.querySelectorAll("[data-dragged]")) one.removeAttribute("data-dragged");
  for (const one of document.querySelectorAll("[data-over]")) one.removeAttribute("data-over");
}

const button = (place) => {
  if (!place || !form() || !document.querySelector("[data-dragged]")) return null;
  if (!place.dataset.drop) return form().querySelector('[value="release"]');
  const known = [...form().querySelector("[data-move-to]").options].some((one) => one.value === place.dataset.drop);
  return known ? form().querySelector('[value="assign"]') : null;
};

function over(event) {
  const place = event.target.closest?.("[data-drop]");
  if (!button(place)) return;
  event.preventDefault();
  if (place.hasAttribute("data-over")) return;
  for (const one of document.querySelectorAll("[data-over]")) one.removeAttribute("data-over");
  place.setAttribute("data-over", "");
}

function drop(event) {
  const place = event.target.closest?.("[data-drop]");
  const act = button(place);
  if (!act) return;
  event.preventDefault();
  if (place.dataset.drop) form().querySelector("[data-move-to]").value = place.dataset.drop;
  form().requestSubmit(act);
}

if (form()) {
  for (const row of document.querySelectorAll("[data-drag]")) row.draggable = true;
  document.addEventListener("dragstart", (event) => {
    const row = event.target.closest?.("[data-drag]");
    if (row) take(row, event);
  });
  document.addEventListener("dragover", over);
  document.addEventListener("drop", drop);
  document.addEventListener("dragend", release);
  document.addEventListener("change", sayAfter);
  document.addEventListener("click", (event) => event.target.closest?.("[data-choose-none]") && sayAfter());
  window.addEventListener("pageshow", sayAfter);
}
