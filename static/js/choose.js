/* Show the acts on many rows only while rows are chosen, and say how many. Without this module they always show. */
function count() {
  const bar = document.querySelector("[data-bulk]");
  if (!bar) return;
  const chosen = document.querySelectorAll("[data-choose]:checked").length;
  const words = bar.querySelector("[data-bulk-count]");
  words.textContent = `${chosen} ${words.dataset.word}`;
  bar.hidden = chosen === 0;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-choose]")) count();
});
document.addEventListener("htmx:afterSettle", count);
window.addEventListener("pageshow", count);
count();
