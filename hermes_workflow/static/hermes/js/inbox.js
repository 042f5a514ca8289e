// The inbox list: one page instead of two panes on phones, and answering several gates with the same options.
const phone = matchMedia("(max-width: 719.98px)");
const bar = () => document.getElementById("bulkbar");
const picked = () => [...document.querySelectorAll("input.pick:checked")];

document.addEventListener("htmx:confirm", (event) => {
  const link = event.detail.elt;
  if (!link.matches?.("[data-row-link]") || !phone.matches) return;
  event.preventDefault();
  location.href = link.href;
});

function markCurrent(id) {
  for (const row of document.querySelectorAll(".gate-row")) {
    const current = row.dataset.gateId === id;
    row.classList.toggle("is-current", current);
    row.querySelector("[data-row-link]").toggleAttribute("aria-current", current);
    if (current) row.querySelector("[data-row-link]").setAttribute("aria-current", "true");
  }
}

// Rows that others answered stay, greyed, until this person moves on: the list is asked to keep what is shown.
let passed = new Set();
let current = document.getElementById("gate-detail")?.dataset.gateId;

document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id !== "gate-rows") return;
  const ids = [...document.querySelectorAll("#gate-rows [data-gate-id]")].map((row) => row.dataset.gateId).filter((id) => !passed.has(id));
  event.detail.parameters.shown = ids.join(",");
});

document.addEventListener("htmx:afterSettle", () => {
  const id = document.getElementById("gate-detail")?.dataset.gateId;
  if (!id) return;
  markCurrent(id);
  if (id !== current) passed = new Set([...document.querySelectorAll(".gate-row.is-answered")].map((row) => row.dataset.gateId));
  current = id;
});

function commonOptions(boxes) {
  const all = boxes.map((box) => box.dataset.options);
  return all.every((options) => options === all[0]) ? JSON.parse(all[0]) : [];
}

function optionButton(option, count) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-s";
  button.dataset.bulkAnswer = option;
  button.textContent = `${option} ${count}`;
  return button;
}

function show() {
  const boxes = picked();
  document.body.classList.toggle("picking", boxes.length > 0);
  if (!bar()) return;
  bar().hidden = !boxes.length;
  if (!boxes.length) return;
  const options = commonOptions(boxes);
  bar().querySelector("[data-bulk-says]").textContent = `${boxes.length} selected, ${options.length ? "same options" : "different options"}`;
  bar().querySelector("[data-bulk-options]").replaceChildren(...options.map((option) => optionButton(option, boxes.length)));
}

function clear() {
  for (const box of picked()) box.checked = false;
  show();
}

async function send(box, answer) {
  box.dataset.key ||= crypto.randomUUID();
  const response = await fetch(bar().dataset.answerApi.replace("/0/", `/${box.value}/`), {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": `${box.dataset.key}:${answer}`, "X-CSRFToken": document.querySelector('meta[name="csrf-token"]').content },
    body: JSON.stringify({ answer, digest: box.dataset.digest }),
  });
  if (!response.ok) throw new Error((await response.json()).error.msg);
  box.checked = false;
}

async function answerAll(answer) {
  const boxes = picked();
  const refused = [];
  for (const button of bar().querySelectorAll("button")) button.disabled = true;
  bar().querySelector("[data-bulk-says]").textContent = "Sending…";
  for (const box of boxes) await send(box, answer).catch((error) => refused.push(error.message));
  for (const button of bar().querySelectorAll("button")) button.disabled = false;
  const done = boxes.length - refused.length;
  if (done) document.dispatchEvent(new CustomEvent("hermes:toast", { detail: { text: `${answer} recorded for ${done} gate${done === 1 ? "" : "s"}` } }));
  show();
  if (refused.length) bar().querySelector("[data-bulk-says]").textContent = `${refused.length} not recorded: ${refused[0]}`;
  document.body.dispatchEvent(new CustomEvent("hermes:inbox"));
}

document.addEventListener("change", (event) => { if (event.target.matches("input.pick")) show(); });
document.addEventListener("hermes:clear-selection", clear);
document.addEventListener("htmx:afterSettle", show);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.matches("[data-bulk-clear]")) clear();
  if (button?.dataset.bulkAnswer !== undefined) answerAll(button.dataset.bulkAnswer);
});
