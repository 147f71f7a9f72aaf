/* Show what an absence brings about as soon as its days and its deputy are known; another person brings their own form. Nothing that
   is typed and no focus is lost: only the places that say something are drawn anew. Without this module a button checks. */
const SOON = 150;
const form = () => document.getElementById("away-form");
let asked = 0;
let timer = 0;

async function fresh(address, options) {
  window.clearTimeout(timer);
  const mine = ++asked;
  const answer = await fetch(address, options).catch(() => null);
  if (!answer?.ok || answer.redirected) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return mine === asked ? page : null;
}

function draw(place, page) {
  const found = page.getElementById(place.id);
  if (found) place.replaceChildren(...found.childNodes);
}

async function look() {
  const body = new FormData(form());
  body.set("check", "1");
  const page = await fresh(form().action, { method: "POST", body });
  if (page) for (const place of document.querySelectorAll("[data-fresh]")) draw(place, page);
}

async function change(person) {
  const named = new FormData(form());
  const words = ["person", "from", "until"].map((name) => [name, named.get(name)]);
  const page = await fresh(`${form().action}?${new URLSearchParams(words)}`);
  if (!page) return;
  draw(document.getElementById("away"), page);
  document.getElementById(person).focus();
  look();
}

document.addEventListener("change", (event) => {
  if (event.target.form !== form()) return;
  if (event.target.name === "person") {
    change(event.target.id);
    return;
  }
  window.clearTimeout(timer);
  timer = window.setTimeout(look, SOON);
});
