// The frame: theme, menus that close, dialogs, copy buttons, password reveal.
const root = document.documentElement;
const YEAR = 31536000;

function paintTheme() {
  for (const button of document.querySelectorAll("[data-theme-choice] button")) {
    const chosen = button.value === (root.dataset.theme || "");
    button.setAttribute("aria-pressed", String(chosen));
    button.toggleAttribute("aria-current", chosen);
  }
}

function chooseTheme(theme) {
  root.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR}; samesite=lax`;
  paintTheme();
}

async function copy(button) {
  const said = button.querySelector("[data-copied]") ?? button;
  const before = said.textContent;
  await navigator.clipboard.writeText(button.dataset.copy || location.href);
  said.textContent = "Copied";
  setTimeout(() => { said.textContent = before; }, 2000);
}

function revealPassword(button) {
  const field = document.getElementById(button.dataset.showPassword);
  const hidden = field.type === "password";
  field.type = hidden ? "text" : "password";
  button.textContent = hidden ? "Hide" : "Show";
}

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const button = event.target.closest("button");
  if (!button) return;
  if (button.closest("[data-theme-choice]")) chooseTheme(button.value);
  if (button.dataset.openDialog) document.getElementById(button.dataset.openDialog)?.showModal();
  if (button.matches("[data-close-dialog]")) button.closest("dialog")?.close();
  if (button.matches("[data-copy]")) copy(button);
  if (button.dataset.showPassword) revealPassword(button);
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.activeElement?.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.stopPropagation();
}, true);

for (const button of document.querySelectorAll("[data-show-password]")) button.hidden = false;
paintTheme();
