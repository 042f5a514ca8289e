// The editor's conveniences. Without them every button is a form's button and every move goes round through the server.
const IDLE = 800;
// The frame would write a chosen file's name into a text field that our pages do not have; this is its own sign to leave a picker alone.
for (const picker of document.querySelectorAll('.hermes input[type="file"]')) picker.hasChangeListener = true;
const form = document.querySelector('[data-editor]');

const content = (body) => body.ownerDocument.querySelector('[data-editor]');

async function ask(action) {
  const data = new FormData(form);
  data.set('action', action);
  const response = await fetch(form.getAttribute('action'), { method: 'POST', body: data, credentials: 'same-origin' });
  return content(new DOMParser().parseFromString(await response.text(), 'text/html').body);
}

// What the server says of the draft is shown where it belongs; what is being typed stays untouched.
function showFindings(fresh) {
  for (const place of form.querySelectorAll('[data-live]')) {
    const found = fresh.querySelector(`#${CSS.escape(place.id)}`);
    if (found && found.innerHTML !== place.innerHTML && !place.contains(document.activeElement)) place.innerHTML = found.innerHTML;
  }
  for (const field of form.querySelectorAll('[aria-describedby$="-errors"]')) {
    const wrong = document.getElementById(field.getAttribute('aria-describedby'))?.childElementCount > 0;
    field.toggleAttribute('aria-invalid', wrong);
    if (wrong) field.setAttribute('aria-invalid', 'true');
  }
  for (const card of form.querySelectorAll('.node-card')) card.classList.toggle('has-defect', card.querySelector('.defect-count') !== null);
}

let timer = 0;
let asked = 0;
async function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const mine = ++asked;
    const fresh = await ask('check').catch(() => null);
    if (fresh && mine === asked) showFindings(fresh);
  }, IDLE);
}

// A move gives the whole form anew; the page stays where it is, and the node that was moved or added takes the focus.
async function move(action) {
  clearTimeout(timer);
  asked += 1;
  const fresh = await ask(action).catch(() => null);
  if (!fresh) return form.requestSubmit(form.querySelector(`button[value="${CSS.escape(action)}"]`));
  form.replaceChildren(...fresh.childNodes);
  const node = fresh.dataset.focus && document.getElementById(fresh.dataset.focus);
  if (node) {
    node.scrollIntoView({ block: 'nearest' });
    (action.startsWith('add') ? node.querySelector('textarea, input:not([type="hidden"])') : node).focus({ preventScroll: true });
  }
  return undefined;
}

function insert(button) {
  const field = document.getElementById(button.dataset.insert);
  const rest = field.value.replace(/^\s*out\.\S*\s*/, '');
  field.value = `${button.textContent} ${rest}`.trimEnd();
  field.focus();
  field.setSelectionRange(button.textContent.length, button.textContent.length);
  touched();
}

function choose(input) {
  const value = input.value.trim();
  if (!/^(user|group):\S/.test(value)) return;
  const boxes = form.querySelector(`[data-checks="${CSS.escape(input.dataset.adds)}"]`);
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', name: input.name, value, checked: true });
  const label = Object.assign(document.createElement('label'), { className: 'check' });
  label.append(box, Object.assign(document.createElement('code'), { textContent: value }));
  boxes.append(label);
  input.value = '';
}

// The other cards show a new name at once. Their boxes keep the old one as value: the server renames what refers to it.
function followName(input) {
  const old = input.defaultValue;
  const shown = input.dataset.shown ?? old;
  const name = input.value.trim();
  const ids = [...form.querySelectorAll('input[name$="-id"]')];
  if (!old || !name || ids.some((other) => other !== input && [old, name, shown].includes(other.value.trim()))) return;
  input.dataset.shown = name;
  for (const box of form.querySelectorAll('input[type="checkbox"][name$="-after"]')) {
    if (box.value === old) box.nextElementSibling.textContent = name;
  }
  const moved = (text) => (text.trimStart().startsWith(`out.${shown}.`) ? text.replace(`out.${shown}.`, () => `out.${name}.`) : text);
  for (const field of form.querySelectorAll('input[name$="-expression"]')) field.value = moved(field.value);
  for (const hint of form.querySelectorAll('.e-hint')) hint.textContent = moved(hint.textContent);
  const card = input.closest('.node-card');
  card.dataset.nodeId = name;
  card.setAttribute('aria-label', name);
  card.querySelector('h2').firstChild.textContent = name;
}

let next = 0;
function nextDefect() {
  const found = form.querySelectorAll('.defects a');
  if (!found.length) return;
  goTo(found[next++ % found.length].hash.slice(1));
}

function goTo(id) {
  const place = document.getElementById(id);
  place?.scrollIntoView({ block: 'center' });
  place?.focus({ preventScroll: true });
}

let changed = false;
function touched() {
  changed = true;
  checkSoon();
}

function follow(event) {
  const button = event.target.closest('button[name="action"], [data-insert]');
  const link = event.target.closest('.defects a, [data-to-defects]');
  const node = event.target.closest('.g-node');
  if (button?.dataset.insert) insert(button);
  else if (link) goTo(link.hash.slice(1));
  else if (node) goTo([...form.querySelectorAll('.node-card')].find((card) => card.dataset.nodeId === node.dataset.nodeId)?.id);
  else if (button && /^(add|remove|up|down):/.test(button.value)) {
    changed = true;
    move(button.value);
  } else return;
  event.preventDefault();
}

if (form) {
  changed = Boolean(form.querySelector('.e-notice'));
  form.addEventListener('input', touched);
  form.addEventListener('click', follow);
  form.addEventListener('change', ({ target }) => {
    if (target.dataset.kind) move(target.dataset.kind);
    if (target.dataset.adds) choose(target);
    if (/^n\d+-id$/.test(target.name)) followName(target);
    touched();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !event.target.dataset.adds) return;
    event.preventDefault();
    choose(event.target);
    touched();
  });
  form.addEventListener('submit', () => {
    changed = false;
    clearTimeout(timer);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'F8') nextDefect();
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's') form.requestSubmit(form.querySelector('[data-save]'));
    else return;
    event.preventDefault();
  });
  window.addEventListener('beforeunload', (event) => {
    if (changed) event.preventDefault();
  });
  if (form.dataset.focus) goTo(form.dataset.focus);
}
