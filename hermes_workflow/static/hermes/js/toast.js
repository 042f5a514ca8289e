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
  const toast = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
  toast.querySelector("span").textContent = text;
  if (href?.startsWith("/")) {
    const anchor = document.createElement("a");
    anchor.href = href;
    anchor.textContent = link || "Open";
    toast.querySelector("[data-dismiss]").before(anchor);
  }
  region.append(toast);
  start(toast);
}

// On phones a toast stands above the answer bar, whose height is its gate's.
function lift() {
  const bar = document.querySelector(".answer-bar");
  if (bar) region.style.setProperty("--answer-bar", `${bar.offsetHeight}px`);
}

document.addEventListener("htmx:afterSettle", lift);
lift();

for (const toast of region.querySelectorAll("[data-toast]")) start(toast);
document.addEventListener("hermes:toast", (event) => show(event.detail));
