/* Keep a page true while it is open: counts change in place, new rows wait behind a pill, a row that someone else claimed stays and is
   dimmed, an open task gets a notice above. Nothing moves under the hand, no form is replaced. Without this module pages are as
   true as when they were loaded. */
import { hear } from "./stream.js";

const SOON = 300;
const SELDOM = 5000;
const SAID_EVERY = 10000;
const LOST_AFTER = 10000;
const page = document.querySelector("[data-live]");

const list = () => document.querySelector("[data-list]");
const rowOf = (id) => document.querySelector(`[data-task="${CSS.escape(id)}"]`);

/* Lists */
const heard = new Set();
let timer = 0;
let looked = 0;

function ask() {
  const asked = new URLSearchParams(window.location.search);
  const shown = list();
  if (shown) {
    asked.set("view", shown.dataset.list);
    asked.set("since", page.dataset.drawn);
    asked.set("shown", [...shown.querySelectorAll("[data-task]")].map((row) => row.dataset.task).join(","));
    asked.set("heard", [...heard].slice(-50).join(","));
  }
  return asked;
}

async function look() {
  timer = 0;
  looked = Date.now();
  const answer = await fetch(`${page.dataset.live}?${ask()}`, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const news = await answer.json();
  count(news.counts);
  if (list() && "fresh" in news) {
    offer(news);
    for (const [id, became] of Object.entries(news.gone)) dim(rowOf(id), became);
  }
}

function lookSoon() {
  if (timer || document.hidden) return;
  timer = window.setTimeout(look, Math.max(SOON, looked + SELDOM - Date.now()));
}

/* The page's title begins with the number of one's own tasks, for people who look at the tabs. */
const title = document.title;

function countInTitle(words) {
  document.title = words && words !== "0" ? `(${words}) ${title}` : title;
}

const mine = () => document.querySelector('[data-nav="mine"] [data-nav-count]')?.textContent.trim();
countInTitle(mine());

function count(counts) {
  for (const [name, words] of Object.entries(counts)) {
    for (const place of document.querySelectorAll(`[data-nav="${name}"] [data-nav-count]`)) {
      if (place.textContent !== words) place.textContent = words;
      if (name === "overdue") place.classList.toggle("wf-nav__count--late", words !== "0");
    }
  }
  countInTitle(mine());
}

let said = 0;

function offer({ fresh, words }) {
  const pill = document.querySelector("[data-live-pill]");
  if (!pill) return;
  pill.hidden = fresh === 0;
  pill.querySelector("[data-live-words]").textContent = words;
  if (fresh && Date.now() - said >= SAID_EVERY) {
    said = Date.now();
    document.querySelector("[data-live-said]").textContent = words;
  }
}

function dim(row, { code, words }) {
  if (!row || row.hasAttribute("data-gone")) return;
  row.setAttribute("data-gone", code);
  row.classList.add("wf-row--gone");
  for (const box of row.querySelectorAll("[data-choose]")) {
    box.checked = false;
    box.disabled = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }
  const said = document.createElement("span");
  said.className = "wf-row__gone";
  said.textContent = words;
  row.querySelector(".wf-row__act")?.replaceChildren(said);
}

/* A task */
async function lookAtTask(place) {
  const address = `${place.dataset.liveTask}?was=${encodeURIComponent(place.dataset.liveWas)}`;
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  place.innerHTML = answer.status === 204 ? "" : await answer.text();
}

/* Both */
const openTask = () => document.querySelector("[data-live-task]");

function take({ task }) {
  if (!task) return;
  heard.add(task);
  const place = openTask();
  if (place?.dataset.liveId === task) {
    lookAtTask(place);
    document.dispatchEvent(new Event("wf:task"));
  }
  lookSoon();
}

/* What happened while nobody listened: from the moment the page was drawn, or while the stream was lost. */
function catchUp() {
  if (openTask()) lookAtTask(openTask());
  lookSoon();
}

let alive = Date.now();

function mark() {
  const lost = Date.now() - alive > LOST_AFTER;
  for (const words of document.querySelectorAll("[data-live-lost]")) words.hidden = !lost;
}

if (page && "EventSource" in window) {
  hear(page.dataset.stream, ({ event, live }) => {
    const wasLost = Date.now() - alive > LOST_AFTER;
    alive = Date.now();
    if (event) take(event);
    if (live || wasLost) catchUp();
    mark();
  });
  window.setInterval(mark, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && heard.size) lookSoon();
  });
  document.addEventListener("htmx:afterSettle", lookSoon);
}
