/* What happened to an open task is said where one presses, too: its notice is repeated in the bar with the answers, and they are out of reach
   while nobody could send them. */
const place = document.querySelector("[data-live-task]");
const bar = document.querySelector("#answer .wf-bar");
const words = bar?.querySelector("[data-stopped]");

function settle() {
  const notice = place.querySelector("[data-stops]");
  bar.toggleAttribute("data-is-stopped", Boolean(notice));
  words.hidden = !notice;
  words.querySelector("[data-stopped-words]").textContent = notice?.dataset.stops ?? "";
  for (const button of bar.querySelectorAll("[name=outcome]")) button.disabled = Boolean(notice);
}

if (place && words) new MutationObserver(settle).observe(place, { childList: true });
