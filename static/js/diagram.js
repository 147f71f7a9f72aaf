/* Bring the step that waits into view, where a diagram is wider or higher than its place. */
for (const box of document.querySelectorAll(".wf-diagram")) {
  const here = box.querySelector(".wfd-is-here");
  if (!here || box.scrollWidth <= box.clientWidth) continue;
  const place = here.getBoundingClientRect();
  box.scrollLeft += place.left + place.width / 2 - (box.getBoundingClientRect().left + box.clientWidth / 2);
}
