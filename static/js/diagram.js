/* Bring the step that waits into view, else the start, where a diagram is wider or higher than its place. The page itself stays. */
export const bring = (box, node) => {
  const place = node.getBoundingClientRect();
  const around = box.getBoundingClientRect();
  box.scrollLeft += place.left + place.width / 2 - (around.left + box.clientWidth / 2);
  const hidden = place.top < around.top || place.bottom > around.top + box.clientHeight;
  if (hidden) box.scrollTop += place.top + place.height / 2 - (around.top + box.clientHeight / 2);
};

export const toWhereItIs = (box) => {
  const here = [...box.querySelectorAll(".wfd-is-here, .wfd-is-failed")].at(-1) ?? box.querySelector(".wfd-start");
  if (here) bring(box, here);
};

document.querySelectorAll(".wf-diagram").forEach(toWhereItIs);
