/* One stream for all tabs of a browser: the tab that holds the lock keeps the connection and passes on what it hears.
   Where locks or channels are missing, every tab keeps its own. Listeners get {event} or {live}. */
const CHANNEL = "wf-stream";
const BEAT = 4000;
const AGAIN = 5000;

export function hear(address, listener) {
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(CHANNEL) : null;
  const tell = (message) => {
    listener(message);
    channel?.postMessage(message);
  };
  if (channel) channel.onmessage = ({ data }) => listener(data);
  if (channel && navigator.locks) {
    navigator.locks.request(CHANNEL, () => new Promise(() => keep(address, tell)));
  } else {
    keep(address, listener);
  }
}

/* The browser comes back by itself after a cut; after a refusal it does not, so that is tried again here. */
function keep(address, tell) {
  let source;
  let last = "";
  const open = () => {
    source = new EventSource(last ? `${address}?after=${encodeURIComponent(last)}` : address);
    source.onopen = () => tell({ live: true });
    source.onmessage = ({ data, lastEventId }) => {
      last = lastEventId;
      tell({ event: JSON.parse(data) });
    };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      last = "";
      window.setTimeout(open, AGAIN);
    };
  };
  window.setInterval(() => {
    if (source.readyState === EventSource.OPEN) tell({ beat: true });
  }, BEAT);
  window.addEventListener("pagehide", () => source.close());
  open();
}
