// Send JSON requests after a pause in typing, and drop a request that a newer one replaces.

const token = () => document.querySelector("[name=csrfmiddlewaretoken]").value;

export async function ask(address, said, signal) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token() };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(said), signal });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

// Give back a function that acts once nobody has called it for a while; `now` acts at once. What is under way is given up.
export function afterAPause(milliseconds, act) {
  let timer = 0;
  let under_way = new AbortController();
  const run = () => {
    under_way.abort();
    under_way = new AbortController();
    const { signal } = under_way;
    act(signal).catch((problem) => { if (!signal.aborted) console.info("no answer from the server", problem.message); });
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(run, milliseconds); };
  later.now = run;
  return later;
}
