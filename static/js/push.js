/* Switch push messages on or off for this browser. Without this module, or where a browser has no push, a sentence says so. */
const card = document.querySelector("[data-push]");
const part = (name) => card.querySelector(`[data-push-${name}]`);
const ON = ["on", "tested", "untested"];

function tell(state) {
  const on = ON.includes(state);
  card.dataset.push = state;
  for (const words of card.querySelectorAll("[data-push-state]")) words.hidden = words.dataset.pushState !== state;
  part("on").hidden = on || state === "absent";
  part("off").hidden = !on;
  part("test").hidden = !on;
}

const keyOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));

function send(address, fields) {
  const body = new FormData();
  body.set("csrfmiddlewaretoken", card.closest("form").elements.csrfmiddlewaretoken.value);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return fetch(address, { method: "POST", body });
}

/* Another person may have switched this browser on: then it is off for who reads this. */
async function isKnown(found) {
  const mark = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(found.endpoint));
  const text = [...new Uint8Array(mark)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return card.dataset.known.split(" ").includes(text);
}

/* A browser keeps one subscription; one that was made with another key of the server has to go first. */
async function subscription(worker) {
  const asked = { userVisibleOnly: true, applicationServerKey: keyOf(card.dataset.key) };
  try {
    return await worker.pushManager.subscribe(asked);
  } catch (error) {
    const old = await worker.pushManager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    return worker.pushManager.subscribe(asked);
  }
}

async function on() {
  if ((await Notification.requestPermission()) !== "granted") return tell("refused");
  const found = await subscription(await navigator.serviceWorker.ready);
  const { endpoint, keys } = found.toJSON();
  const answer = await send(card.dataset.address, { endpoint, public_key: keys.p256dh, auth: keys.auth });
  tell(answer.ok ? "on" : "failed");
}

async function off(worker) {
  const found = await worker.pushManager.getSubscription();
  if (found) {
    await send(card.dataset.end, { endpoint: found.endpoint });
    await found.unsubscribe();
  }
  tell("off");
}

const refusedOr = (state) => (Notification.permission === "denied" ? "refused" : state);

async function begin() {
  const worker = await navigator.serviceWorker.register(card.dataset.worker);
  const found = await worker.pushManager.getSubscription();
  tell(found && (await isKnown(found)) ? "on" : refusedOr("off"));
  part("on").addEventListener("click", () => on().catch(() => tell(refusedOr("failed"))));
  part("off").addEventListener("click", () => off(worker).catch(() => tell("failed")));
  part("test").addEventListener("click", () =>
    send(card.dataset.try, {}).then(
      async (answer) => tell(answer.ok && (await answer.json()).code === "sent" ? "tested" : "untested"),
      () => tell("untested"),
    ),
  );
}

if (card) {
  if ("serviceWorker" in navigator && "PushManager" in window && window.Notification) begin().catch(() => tell("failed"));
  else tell("absent");
}
