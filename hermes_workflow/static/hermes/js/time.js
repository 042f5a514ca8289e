// Times that tick: the words and thresholds of the server, said again every few seconds.
const MINUTE = 60, HOUR = 3600, DAY = 86400;
const EVERY_MS = 10000;

function pair(whole, large, largeUnit, small, smallUnit) {
  const rest = Math.floor((whole % large) / small);
  const head = `${Math.floor(whole / large)} ${largeUnit}`;
  return rest ? `${head} ${rest} ${smallUnit}` : head;
}

function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) return "under 1 min";
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  return whole < DAY ? pair(whole, HOUR, "h", MINUTE, "min") : pair(whole, DAY, "d", HOUR, "h");
}

const ago = (seconds) => (seconds < MINUTE ? "just now" : `${span(seconds)} ago`);

function urgency(seconds, total) {
  if (seconds <= 0) return "passed";
  if (seconds < 10 * MINUTE) return "urgent";
  return seconds < HOUR || (total > 0 && seconds < total / 4) ? "soon" : "normal";
}

function setUrgency(element, level) {
  element.classList.remove("left-normal", "left-soon", "left-urgent", "left-passed");
  element.classList.add(`left-${level}`);
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function tickLeft(element, at, now) {
  const seconds = (at - now) / 1000;
  const total = (at - Date.parse(element.dataset.since)) / 1000 || 0;
  const holder = element.closest("[data-left]");
  if (holder) setUrgency(holder, urgency(seconds, total));
  if (seconds > 0) say(element, `${span(seconds)} left`);
  else if (element.dataset.timeout === "escalate") say(element, `escalated ${ago(-seconds)}`);
  else if (element.textContent.endsWith(" left")) passed(element);
}

// Reading honours deadlines, so a page that shows one passing asks again and gets what it led to.
function passed(element) {
  say(element, "closed, timed out");
  for (const name of ["hermes:inbox", "hermes:runs", "hermes:changed"]) document.body.dispatchEvent(new CustomEvent(name));
}

function tickMeter(meter, now) {
  const since = Date.parse(meter.dataset.since), until = Date.parse(meter.dataset.until);
  const used = Math.min(1, Math.max(0, (now - since) / (until - since)));
  meter.firstElementChild.setAttribute("width", String(used * 100));
  setUrgency(meter, urgency((until - now) / 1000, (until - since) / 1000));
}

function tick() {
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-tick]")) {
    const at = Date.parse(element.dateTime);
    if (element.dataset.tick === "left") tickLeft(element, at, now);
    else if (element.dataset.tick === "ago") say(element, ago((now - at) / 1000));
    else say(element, span((now - at) / 1000));
  }
  for (const meter of document.querySelectorAll("[data-meter]")) tickMeter(meter, now);
}

setInterval(tick, EVERY_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
