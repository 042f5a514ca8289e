// Successes at the bottom left: six seconds, paused under the pointer or focus. Errors never come here.
const SHOWN_MS = 6000;
const region = document.getElementById("toasts");

function start(toast) {
  let timer;
  const wait = () => { timer = setTimeout(() => toast.remove(), SHOWN_MS); };
  const pause = () => clearTimeout(timer);
  toast.addEventListener("pointerenter", pause);
  toast.addEventListener("pointerleave", wait);
  toast.addEventListener("focusin", pause);
  toast.addEventListener("focusout", wait);
  toast.querySelector("[data-dismiss]")?.addEventListener("click", () => toast.remove());
  wait();
}

function show({ text, href, link }) {
  const toast = document.createElement("div");
  toast.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  if (href?.startsWith("/")) {
    const anchor = document.createElement("a");
    anchor.href = href;
    anchor.textContent = link || "Open";
    toast.append(anchor);
  }
  region.append(toast);
  start(toast);
}

for (const toast of region.querySelectorAll("[data-toast]")) start(toast);
document.addEventListener("hermes:toast", (event) => show(event.detail));
