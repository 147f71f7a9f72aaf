/* Show what an absence brings about as soon as its days and its deputy are known; another person brings their own form. Nothing that
   is typed and no focus is lost: only the places that say something are drawn anew. Without this module a button checks. */
import { draw, pageOf } from "./fresh.js";

const SOON = 150;
const form = () => document.getElementById("away-form");
let asked = 0;
let timer = 0;

async function latest(address, options) {
  window.clearTimeout(timer);
  const mine = ++asked;
  const page = await pageOf(address, options);
  return page?.isOk && mine === asked ? page : null;
}

async function look() {
  const body = new FormData(form());
  body.set("check", "1");
  const page = await latest(form().action, { method: "POST", body });
  if (page) draw(page);
}

async function change() {
  const typed = new FormData(form());
  const words = ["person", "from", "until"].map((name) => [name, typed.get(name)]);
  const page = await latest(`${form().action}?${new URLSearchParams(words)}`);
  if (!page) return;
  const focused = document.activeElement;
  focused.blur();
  draw(page, [document.getElementById("away")]);
  document.getElementById(focused.id)?.focus();
  look();
}

document.addEventListener("change", (event) => {
  if (event.target.form !== form()) return;
  window.clearTimeout(timer);
  if (event.target.name === "person") change();
  else timer = window.setTimeout(look, SOON);
});
