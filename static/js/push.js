/* Switch push messages on or off for this browser. Without this module, or where a browser has no push, a sentence says so. */
const card = document.querySelector("[data-push]");
const part = (name) => card.querySelector(`[data-push-${name}]`);

function tell(state) {
  card.dataset.push = state;
  for (const words of card.querySelectorAll("[data-push-state]")) words.hidden = words.dataset.pushState !== state;
  part("on").hidden = state === "on";
  part("off").hidden = state !== "on";
  part("test").hidden = state !== "on";
}

const keyOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));

function send(address, fields) {
  const body = new FormData();
  body.set("csrfmiddlewaretoken", card.querySelector("[name=csrfmiddlewaretoken]").value);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return fetch(address, { method: "POST", body });
}

async function on(worker) {
  if ((await Notification.requestPermission()) !== "granted") return tell("refused");
  const found = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: keyOf(card.dataset.key) });
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

async function begin() {
  const worker = await navigator.serviceWorker.register(card.dataset.worker);
  const found = await worker.pushManager.getSubscription();
  tell(found ? "on" : Notification.permission === "denied" ? "refused" : "off");
  part("on").addEventListener("click", () => on(worker).catch(() => tell(Notification.permission === "denied" ? "refused" : "failed")));
  part("off").addEventListener("click", () => off(worker));
  part("test").addEventListener("click", () => send(card.dataset.try, {}));
}

if (card) {
  if ("serviceWorker" in navigator && "PushManager" in window) begin().catch(() => tell("failed"));
  else tell("absent");
}
