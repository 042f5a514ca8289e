// What a person was doing survives a swap: typed text, armed option, focus, scroll, open details, chosen tab.
// By part: several parts are fetched at once, and each settles a little after its swap.
const kept = new Map();

const keyOf = (element) => element.id || (element.name && `${element.form?.id ?? ""}/${element.name}`);
const dirty = (field) => field.type !== "hidden" && (field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);

function fieldsOf(target) {
  return [...target.querySelectorAll("textarea, input, select")].filter((field) => keyOf(field));
}

function remember(target) {
  const focused = target.contains(document.activeElement) ? document.activeElement : null;
  const armed = target.querySelector('[name="answer"][aria-pressed="true"]');
  return {
    fields: new Map(fieldsOf(target).filter(dirty).map((field) => [keyOf(field), { value: field.value, checked: field.checked }])),
    focus: focused && { key: keyOf(focused), value: focused.value, href: focused.getAttribute("href"), at: focused.selectionStart, end: focused.selectionEnd },
    armed: armed?.value,
    digests: digestsOf(target),
    open: [...target.querySelectorAll("details[id][open]")].map((details) => details.id),
    tabs: [...target.querySelectorAll('[role="tab"][id][aria-selected="true"]')].map((tab) => tab.id),
    kept: target.querySelector("[data-kept-comment] blockquote")?.textContent,
    commenting: Boolean(target.querySelector(".answer-form.commenting")),
    scroll: [target, ...target.querySelectorAll("[id][data-scroll]")].filter((el) => el.id).map((el) => [el.id, el.scrollTop]),
  };
}

function digestsOf(target) {
  return new Map([...target.querySelectorAll("form[data-answer]")].map((form) => [form.id, form.dataset.digest]));
}

function findFocus(target, { key, value, href }) {
  const named = [...target.querySelectorAll("[name]")].find((el) => keyOf(el) === key && (el.type !== "submit" || el.value === value));
  return (key && document.getElementById(key)) || named || (href && target.querySelector(`a[href="${CSS.escape(href)}"]`));
}

function restoreFields(target, memory) {
  for (const field of fieldsOf(target)) {
    const saved = memory.fields.get(keyOf(field));
    if (!saved) continue;
    if (field.type === "checkbox" || field.type === "radio") field.checked = saved.checked;
    else field.value = saved.value;
  }
}

function restoreArmed(target, memory) {
  for (const form of target.querySelectorAll("form[data-answer]")) {
    if (memory.commenting) form.classList.add("commenting");
    const before = memory.digests.get(form.id);
    if (before && before !== form.dataset.digest) {
      form.dispatchEvent(new CustomEvent("hermes:shown-changed", { bubbles: true }));
    } else if (memory.armed !== undefined) {
      form.dispatchEvent(new CustomEvent("hermes:arm", { bubbles: true, detail: { value: memory.armed } }));
    }
  }
}

function keepComment(target, memory) {
  const comment = [...memory.fields].find(([key]) => key.endsWith("-comment"))?.[1].value || memory.kept;
  if (!comment || target.querySelector("form[data-answer]")) return;
  const kept = document.getElementById("kept-comment").content.cloneNode(true);
  kept.querySelector("blockquote").textContent = comment;
  (target.querySelector(".answer-bar") ?? target).append(kept);
}

function restore(target, memory) {
  restoreFields(target, memory);
  keepComment(target, memory);
  for (const id of memory.open) document.getElementById(id)?.setAttribute("open", "");
  for (const id of memory.tabs) document.getElementById(id)?.dispatchEvent(new CustomEvent("hermes:restore-tab", { bubbles: true }));
  restoreArmed(target, memory);
  for (const [id, top] of memory.scroll) {
    const element = document.getElementById(id);
    if (element) element.scrollTop = top;
  }
  if (!memory.focus) return;
  const element = findFocus(target, memory.focus);
  element?.focus({ preventScroll: true });
  if (memory.focus.at != null && element?.setSelectionRange) element.setSelectionRange(memory.focus.at, memory.focus.end);
}

// An answer on its way, or a refusal being read, is not swapped away by news; what the server says next replaces it.
const sending = (part) => part?.querySelector?.("form[data-answer][data-sending]");
const busy = (part) => part.matches?.("[data-keep]") && part.querySelector("form[data-answer][data-sending], [data-answer-result] > [data-problem]");

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.requestConfig.verb === "get" && busy(event.detail.elt)) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  if (requestConfig?.verb === "get" && (sending(target) || (requestConfig.elt === target && busy(target)))) event.detail.shouldSwap = false;
  const refetch = requestConfig?.verb === "get" && target?.id && target.hasAttribute("data-keep") && requestConfig.elt === target;
  if (refetch && event.detail.shouldSwap) kept.set(target.id, remember(target));
  else if (target?.id) kept.delete(target.id);
});

document.addEventListener("htmx:afterSettle", (event) => {
  const memory = kept.get(event.target.id);
  if (!memory) return;
  kept.delete(event.target.id);
  restore(event.target, memory);
});
