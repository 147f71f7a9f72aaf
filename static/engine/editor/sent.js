// Forget what was kept of a text once its save was answered without a refusal; every page that a save can lead to loads this.

const SENT = "wf-draft:sent";

export function sending(name) { sessionStorage.setItem(SENT, name); }

function settle() {
  const name = sessionStorage.getItem(SENT);
  sessionStorage.removeItem(SENT);
  if (name && !document.querySelector(".wf-notice.wf-bad[role=alert]")) localStorage.removeItem(name);
}

settle();
