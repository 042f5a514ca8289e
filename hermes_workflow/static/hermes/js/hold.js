// A gate that takes a place by itself takes no answer for a moment: a click on its way was meant for what stood there before.
const HOLD_MS = 1200;
const forms = () => [...document.querySelectorAll("form[data-answer]")];
const optionsOf = (form) => form.querySelectorAll('button[name="answer"]');
const shownNow = () => new Set(forms().map((form) => form.dataset.gateId));
const held = new Map();
let shown = shownNow();
let arrived;

const holds = (form) => performance.now() < (held.get(form?.dataset.gateId) ?? 0);

function paint() {
  for (const form of forms()) {
    if (form.dataset.sending !== undefined) continue;
    for (const option of optionsOf(form)) {
      if (holds(form)) option.setAttribute("aria-disabled", "true");
      else option.removeAttribute("aria-disabled");
    }
  }
  for (const note of document.querySelectorAll("[data-next-gate]")) note.hidden = note.dataset.nextGate !== arrived;
}

// Opening a gate from the list is no surprise; everything else that brings another one is.
document.addEventListener("htmx:afterSwap", (event) => {
  const before = shown;
  shown = shownNow();
  const fresh = [...shown].filter((id) => !before.has(id));
  if (fresh.length) arrived = undefined;
  if (fresh.length && !event.detail.requestConfig?.elt.matches("[data-row-link]")) {
    [arrived] = fresh;
    for (const id of fresh) held.set(id, performance.now() + HOLD_MS);
    setTimeout(paint, HOLD_MS + 10);
  }
  paint();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest('button[name="answer"]');
  if (holds(button?.closest("form[data-answer]"))) event.preventDefault();
}, true);

document.addEventListener("htmx:confirm", (event) => {
  if (event.detail.elt.matches?.("form[data-answer]") && holds(event.detail.elt)) event.preventDefault();
});
