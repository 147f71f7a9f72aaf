/* Count the seconds in which an answer can be taken back, send it at once without leaving the page, and say what became of it.
   Without this module the toast says until when, and its buttons are plain forms. */
const TICK = 250;
const ASK_AGAIN = 1000;
const MOST_ASKED = 15;
const LIFE = 6000;

const wait = (time) => new Promise((resolve) => window.setTimeout(resolve, time));

function count(toast) {
  const whole = Number(toast.dataset.left) * 1000;
  const over = performance.now() + whole;
  const part = (name) => toast.querySelector(`[data-sends-${name}]`);
  const [ring, arc, seconds, until, countdown] = ["ring", "arc", "seconds", "until", "countdown"].map(part);
  ring.hidden = countdown.hidden = false;
  until.classList.add("wf-hidden");
  const tick = () => {
    if (toast.dataset.settled) return;
    const left = Math.max(over - performance.now(), 0);
    const shown = Math.ceil(left / 1000);
    seconds.textContent = shown;
    countdown.textContent = countdown.dataset.one.replace("%s", shown);
    arc.style.strokeDashoffset = 100 - (100 * left) / whole;
    if (left > 0) window.setTimeout(tick, TICK);
    else learn(toast);
  };
  tick();
}

/* Show the outcome in place of the countdown: the region is live, so it is heard too. */
function settle(toast, news) {
  toast.dataset.settled = news.state;
  toast.dataset.code = `answer.${news.state}`;
  const place = document.createElement("span");
  place.className = "wf-toast__words";
  const made = new DOMParser().parseFromString(news.words, "text/html");
  place.replaceChildren(...made.body.childNodes);
  for (const act of toast.querySelectorAll("[data-sends-act], [data-sends-ring]")) act.remove();
  toast.querySelector("[data-sends-words]").replaceWith(place);
  const close = toast.querySelector("[data-toast-close]");
  close.hidden = false;
  close.addEventListener("click", () => toast.remove());
  if (news.state === "sent") window.setTimeout(() => toast.remove(), LIFE);
}

async function learn(toast) {
  for (const act of toast.querySelectorAll("[data-sends-act] button")) act.disabled = true;
  for (let asked = 0; asked < MOST_ASKED && !toast.dataset.settled; asked += 1) {
    await wait(ASK_AGAIN);
    const answer = await fetch(toast.dataset.state, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!answer?.ok || answer.redirected) continue;
    const news = await answer.json();
    if (news.state !== "waiting") settle(toast, news);
    else if (asked === MOST_ASKED - 1) settle(toast, news);
  }
}

async function sendNow(event) {
  event.preventDefault();
  event.stopPropagation();
  const form = event.currentTarget;
  const toast = form.closest("[data-sends]");
  for (const button of toast.querySelectorAll("[data-sends-act] button")) button.disabled = true;
  const answer = await fetch(form.action, {
    method: "POST", body: new FormData(form), headers: { "X-Requested-With": "answers" },
  }).catch(() => null);
  if (answer?.ok && !answer.redirected) settle(toast, await answer.json());
  else form.submit();
}

for (const toast of document.querySelectorAll("[data-sends]")) {
  count(toast);
  toast.querySelector("[data-sends-now]").addEventListener("submit", sendNow);
}

/* A page that comes back from the browser's memory would count on from where it was left. */
window.addEventListener("pageshow", (event) => {
  if (event.persisted) for (const toast of document.querySelectorAll("[data-sends]")) toast.remove();
});
