// The run's graph: bring the step that waits into view, and go from a node to its row below.
const scrolled = new Map();

function settle() {
  for (const frame of document.querySelectorAll(".graph-scroll")) {
    if (frame.dataset.settled) continue;
    frame.dataset.settled = "yes";
    const kept = scrolled.get(frame.id);
    const node = frame.querySelector(".g-waiting, .g-waiting_agent, .g-running, .g-failed");
    if (kept !== undefined) frame.scrollLeft = kept;
    else if (node) {
      const box = node.getBoundingClientRect(), outer = frame.getBoundingClientRect();
      const seen = box.left >= outer.left && box.right <= outer.right;
      if (!seen) frame.scrollLeft += box.left + box.width / 2 - outer.left - outer.width / 2;
    }
    frame.addEventListener("scroll", () => scrolled.set(frame.id, frame.scrollLeft), { passive: true });
  }
}

document.addEventListener("click", (event) => {
  const node = event.target.closest?.(".g-node[data-node-id]");
  if (!node) return;
  const row = document.querySelector(`.timeline [data-node-id="${CSS.escape(node.dataset.nodeId)}"]`);
  row?.scrollIntoView({ block: "center" });
  row?.querySelector("details")?.setAttribute("open", "");
});

document.addEventListener("htmx:afterSettle", settle);
settle();
