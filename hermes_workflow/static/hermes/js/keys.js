// The keyboard map. Never while typing; a person can switch it off, kept in this browser.
const STORE = "hermes-keys";
const GO = { i: '.mainnav a[href*="/inbox"], .brand', r: '.mainnav a[href*="/runs"]', d: '.mainnav a[href*="/designs"]', s: '.mainnav a[href*="/schedules"]' };
const GO_MS = 1500;
let going = 0;

const enabled = () => localStorage.getItem(STORE) !== "off";
const typing = (element) => element.matches?.('textarea, select, input:not([type="checkbox"], [type="radio"], [type="submit"]), [contenteditable="true"]');
const form = () => document.querySelector("form[data-answer]");
const rows = () => [...document.querySelectorAll("[data-row]")];
const handleOf = (row) => row.querySelector("[data-row-link]") ?? row.querySelector("a");

function move(step) {
  const all = rows();
  if (!all.length) return;
  const active = document.activeElement?.closest("[data-row]") ?? document.querySelector("[data-row].is-current");
  const at = all.indexOf(active);
  const to = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
  handleOf(all[to]).focus();
  all[to].scrollIntoView({ block: "nearest" });
}

function select() {
  const row = document.activeElement?.closest("[data-row]");
  row?.querySelector("input.pick")?.click();
}

function comment() {
  const target = form();
  if (!target?.elements.comment) return;
  target.classList.add("commenting");
  target.elements.comment.focus();
}

function armed() {
  return form()?.querySelector('[name="answer"][aria-pressed="true"]');
}

function choose(digit) {
  const option = form()?.querySelectorAll('button[name="answer"]')[digit - 1];
  if (!option || option.getAttribute("aria-disabled") === "true") return;
  form().dispatchEvent(new CustomEvent("hermes:arm", { bubbles: true, detail: { value: option.value, focus: true } }));
}

function disarm() {
  if (armed()) form().dispatchEvent(new CustomEvent("hermes:disarm", { bubbles: true }));
  document.dispatchEvent(new CustomEvent("hermes:clear-selection"));
  if (document.activeElement?.name === "answer") document.activeElement.blur();
}

function go(key) {
  going = 0;
  document.querySelector(GO[key])?.click();
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  x: select,
  c: comment,
  g: () => { going = Date.now(); },
  "/": () => document.getElementById("search")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
  Escape: disarm,
};

function inField(event) {
  if (event.key === "Escape") event.target.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.name === "comment") armed()?.click();
}

function shortcut(event) {
  if (going && Date.now() - going < GO_MS && GO[event.key]) return () => go(event.key);
  if (/^[1-9]$/.test(event.key)) return () => choose(Number(event.key));
  const resting = !event.target.closest?.("a, button, summary, input");
  if (event.key === "Enter") return resting && armed() ? () => armed().click() : null;
  return KEYS[event.key];
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || !enabled() || document.querySelector("dialog[open]")) return;
  if (typing(event.target)) return inField(event);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = shortcut(event);
  if (event.key !== "g") going = 0;
  if (!action) return;
  event.preventDefault();
  action();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-keys-switch]")) return;
  localStorage.setItem(STORE, event.target.checked ? "on" : "off");
  paint();
});

function paint() {
  for (const box of document.querySelectorAll("[data-keys-switch]")) box.checked = enabled();
}

paint();
