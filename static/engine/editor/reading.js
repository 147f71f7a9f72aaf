// On the page of a version that is only read: lead from a place in a list, and from a step of the picture, to its line.

import "../../js/diagram.js";

for (const place of document.querySelectorAll("[data-line]")) place.href = `#L${place.dataset.line}`;

const places = JSON.parse(document.getElementById("step-lines")?.textContent ?? "{}");
const lead = (event) => {
  const node = event.target.closest("[data-step]");
  const line = node && places[node.dataset.step.split("/").pop()];
  if (line) location.hash = `L${line}`;
};
document.querySelector("[data-diagram]")?.addEventListener("click", lead);
