// Tabs: role=tablist with buttons that name their panels in aria-controls; arrows move, the choice survives a swap.
function choose(tab, focus) {
  const list = tab.closest('[role="tablist"]');
  for (const other of list.querySelectorAll('[role="tab"]')) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    const panel = document.getElementById(other.getAttribute("aria-controls"));
    if (panel) panel.hidden = !chosen;
  }
  if (focus) tab.focus();
}

document.addEventListener("click", (event) => {
  const tab = event.target.closest('[role="tab"]');
  if (tab) choose(tab, false);
});

const MOVES = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (at, count) => count - 1,
};

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest?.('[role="tab"]');
  const move = tab && MOVES[event.key];
  if (!move) return;
  const tabs = [...tab.closest('[role="tablist"]').querySelectorAll('[role="tab"]')];
  event.preventDefault();
  choose(tabs[move(tabs.indexOf(tab), tabs.length)], true);
});

document.addEventListener("hermes:restore-tab", (event) => choose(event.target, false));
