// The sockets named by the page: they only say "changed"; htmx fetches what listens for hermes:inbox, hermes:runs or hermes:changed.
const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 15000, GATHER_MS = 80;
const lost = new Set();
const pending = new Map();

function show() {
  for (const element of document.querySelectorAll(".live")) {
    const state = lost.size ? "lost" : "on";
    if (element.dataset.state === state) continue;
    element.dataset.state = state;
    element.textContent = lost.size ? "Reconnecting" : "Live";
  }
}

function announce(kind, detail) {
  clearTimeout(pending.get(kind));
  pending.set(kind, setTimeout(() => {
    for (const name of [`hermes:${kind}`, "hermes:changed"]) {
      document.body.dispatchEvent(new CustomEvent(name, { detail }));
    }
  }, GATHER_MS));
}

function connect(path, wait = FIRST_WAIT_MS, again = false) {
  const kind = path.split("/")[2];
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
  let delay = wait;
  socket.onopen = () => {
    delay = FIRST_WAIT_MS;
    lost.delete(path);
    show();
    if (again) announce(kind, {});
  };
  socket.onmessage = (event) => {
    const frame = JSON.parse(event.data);
    if (frame.type === "changed") announce(kind, { id: frame.id, seq: frame.seq });
  };
  socket.onclose = () => {
    lost.add(path);
    show();
    setTimeout(() => connect(path, Math.min(delay * 2, LONGEST_WAIT_MS), true), delay * (0.75 + Math.random() / 2));
  };
}

for (const path of document.body.dataset.sockets.split(/\s+/).filter(Boolean)) connect(path);
document.addEventListener("htmx:afterSettle", show);
