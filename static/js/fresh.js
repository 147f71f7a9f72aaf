/* Draw anew what a page from the server says at the places that are marked for it. A place that has the focus stays. */
export async function pageOf(address, options) {
  const answer = await fetch(address, options).catch(() => null);
  if (!answer) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return Object.assign(page, { isOk: answer.ok && !answer.redirected, isGone: answer.redirected || answer.status >= 500 });
}

export function draw(page, places = document.querySelectorAll("[data-fresh]")) {
  for (const place of places) {
    const found = page.getElementById(place.id);
    if (found && !place.contains(document.activeElement)) place.replaceChildren(...found.childNodes);
  }
}
