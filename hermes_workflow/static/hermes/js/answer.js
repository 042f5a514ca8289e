// Answering a gate: one key arms, Enter or a click sends; nothing counts before the server confirms.
const said = (id, text) => { document.getElementById(id).textContent = text; };
const optionsOf = (form) => [...form.querySelectorAll('button[name="answer"]')];

function disarm(form) {
  for (const option of optionsOf(form)) option.setAttribute("aria-pressed", "false");
  const hint = form.querySelector("[data-answer-hint]");
  if (hint) hint.hidden = true;
}

function arm(form, option, focus) {
  disarm(form);
  option.setAttribute("aria-pressed", "true");
  const hint = form.querySelector("[data-answer-hint]");
  if (hint) {
    hint.hidden = false;
    hint.querySelector("[data-answer-word]").textContent = option.value;
  }
  if (focus) option.focus({ preventScroll: true });
}

// One key per body: a resend of the same answer is the same request, another answer or comment is a new one.
function keyFor(form, answer) {
  const body = JSON.stringify([answer, form.elements.comment?.value ?? "", form.elements.digest?.value ?? ""]);
  if (form.dataset.body !== body) {
    if (form.dataset.body !== undefined || !form.elements.idempotency_key.value) form.elements.idempotency_key.value = crypto.randomUUID();
    form.dataset.body = body;
  }
}

function setSending(form, answer) {
  form.dataset.sending = answer;
  for (const option of optionsOf(form)) {
    option.setAttribute("aria-disabled", "true");
    if (option.value !== answer) continue;
    option.classList.add("is-sending");
    const label = option.querySelector("[data-option-label]");
    label.dataset.text = label.textContent;
    label.textContent = "Sending…";
  }
}

function setReady(form) {
  delete form.dataset.sending;
  for (const option of optionsOf(form)) {
    option.removeAttribute("aria-disabled");
    option.classList.remove("is-sending");
    const label = option.querySelector("[data-option-label]");
    if (label.dataset.text !== undefined) label.textContent = label.dataset.text;
  }
}

// Of a swap, `elt` is the target; the request knows who asked.
const answerForm = (event) => (event.detail?.requestConfig?.elt ?? event.detail?.elt)?.closest?.("form[data-answer]");

document.addEventListener("htmx:confirm", (event) => {
  const form = answerForm(event);
  if (form?.dataset.sending !== undefined) event.preventDefault();
});

document.addEventListener("htmx:configRequest", (event) => {
  const form = answerForm(event);
  if (!form || event.detail.verb !== "post") return;
  const answer = event.detail.parameters.answer ?? form.dataset.last ?? "";
  keyFor(form, answer);
  form.dataset.last = answer;
  event.detail.parameters.answer = answer;
  event.detail.parameters.idempotency_key = form.elements.idempotency_key.value;
  setSending(form, answer);
});

function problem(form, html) {
  const place = form.querySelector("[data-answer-result]");
  place.innerHTML = html;
  window.htmx.process(place);
  said("say-assertive", place.textContent.trim().replace(/\s+/g, " "));
  disarm(form);
  place.querySelector("button, a")?.focus();
}

function notReached(form) {
  setReady(form);
  problem(form, form.querySelector("template[data-not-reached]").innerHTML);
  for (const button of form.querySelectorAll("[data-resend]")) {
    button.querySelector("[data-answer-word]").textContent = form.dataset.last;
  }
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const form = answerForm(event);
  const { xhr, requestConfig } = event.detail;
  if (!form || requestConfig?.verb !== "post" || xhr.status < 400) return;
  event.detail.shouldSwap = false;
  event.detail.isError = false;
  if (xhr.status >= 500) return notReached(form);
  setReady(form);
  problem(form, xhr.responseText);
});

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    const form = answerForm(event);
    if (form?.dataset.sending !== undefined) notReached(form);
  });
}

function nextRow() {
  const current = document.querySelector(".gate-row.is-current");
  const rows = [...document.querySelectorAll(".gate-row:not(.is-answered)")].filter((row) => row !== current);
  const after = rows.find((row) => current && current.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING);
  return after ?? rows[0];
}

// The server names the outcome in HX-Trigger: hermes:answered {text, href?, link?}.
document.addEventListener("hermes:answered", (event) => {
  document.body.dispatchEvent(new CustomEvent("hermes:toast", { bubbles: true, detail: event.detail }));
  const focusNext = () => (document.querySelector("[data-focus-after-answer]") ?? nextRow()?.querySelector("a") ?? document.getElementById("main")).focus();
  document.addEventListener("htmx:afterSettle", focusNext, { once: true });
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const form = button?.closest("form[data-answer]");
  if (!form) return;
  if (button.name === "answer" && form.dataset.sending !== undefined) event.preventDefault();
  if (button.matches("[data-comment-open]")) {
    form.classList.add("commenting");
    form.elements.comment.focus();
  }
  if (button.matches("[data-problem-close]")) {
    form.querySelector("[data-answer-result]").replaceChildren();
    document.body.dispatchEvent(new CustomEvent("hermes:changed"));
    document.body.dispatchEvent(new CustomEvent("hermes:inbox"));
  }
}, true);

document.addEventListener("hermes:arm", (event) => {
  const option = optionsOf(event.target).find((one) => one.value === event.detail.value);
  if (option) arm(event.target, option, event.detail.focus);
});
document.addEventListener("hermes:disarm", (event) => disarm(event.target));
document.addEventListener("hermes:shown-changed", (event) => problem(event.target, event.target.querySelector("template[data-shown-changed]").innerHTML));
