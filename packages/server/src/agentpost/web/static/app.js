// What pages do beyond htmx. Each page works without it: this makes it nicer.

// --- times in the viewer's own time zone ---------------------------------------------------------
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const distance = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 7]];

// "5 min ago", "in 2 hr."; the date beyond a week.
function relative(at) {
  let value = (at - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(value) < size) return distance.format(Math.trunc(value), unit);
    value /= size;
  }
  return minute.format(at);
}

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const text = "ago" in time.dataset ? relative(at) : minute.format(at);
    if (time.textContent === text) continue;
    time.textContent = text;
    time.title = exact.format(at);
  }
}

// The live part of a page is sent with times in UTC; an observer runs before the next paint.
new MutationObserver(() => showTimes(document.body)).observe(document.body, {
  childList: true, subtree: true, characterData: true,
});
showTimes(document.body);
setInterval(() => showTimes(document.body), 10_000);

// --- the look ------------------------------------------------------------------------------------
addEventListener("submit", (event) => {
  const theme = event.submitter?.name === "theme" && event.submitter.value;
  if (!theme) return;
  event.preventDefault();
  document.documentElement.dataset.theme = theme;
  document.cookie = `agentpost_theme=${theme}; path=/; max-age=34560000; samesite=lax`;
  for (const button of document.querySelectorAll(".themes button")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
});

// --- buttons -------------------------------------------------------------------------------------
addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("pre, code").textContent;
  const label = button.querySelector(".hidden");
  try {
    await navigator.clipboard.writeText(text);
    label.textContent = "Copied";
    button.classList.add("done");
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("pre, code"));
  }
  setTimeout(() => { label.textContent = "Copy"; button.classList.remove("done"); }, 2000);
});

// Asks before a form does what cannot be undone.
addEventListener("submit", (event) => {
  const text = event.target.dataset.confirm;
  if (text && !confirm(text)) event.preventDefault();
});

// A menu or a list that is open closes with Escape and with a click elsewhere.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// A note is shown once: loading the page again does not repeat it.
const here = new URL(location.href);
if (here.searchParams.has("note")) {
  here.searchParams.delete("note");
  history.replaceState(history.state, "", here);
}

// --- previews of files ------------------------------------------------------------------
addEventListener("error", (event) => {
  const text = event.target.dataset?.or;
  if (!text) return;
  const note = document.createElement("p");
  note.className = "soft";
  note.textContent = text;
  event.target.replaceWith(note);
}, true);

// A preview that does not come says so: the file's link is below it.
for (const name of ["htmx:error", "htmx:response:error"]) {
  addEventListener(name, (event) => {
    const note = event.target.matches?.(".preview") && event.target.querySelector(":scope > .soft");
    if (note) note.textContent = "The preview could not be loaded.";
  });
}

// --- the live part -------------------------------------------------------------------------------
// A stream that breaks is opened again by hx-sse. One that could not be opened at first is tried
// again from here. Meanwhile the page says so. When the session has ended, it asks to sign in.
let again = 0;
const connection = document.getElementById("connection");
function connected(is) { if (connection) connection.textContent = is ? "" : "The server cannot be reached. Reconnecting…"; }
addEventListener("htmx:sse:after:connection", () => connected(true));
for (const name of ["htmx:sse:error", "htmx:error", "htmx:response:error"]) {
  addEventListener(name, (event) => {
    const part = event.target;
    if (part.id !== "live") return;
    const status = event.detail.status ?? event.detail.ctx?.response?.status;
    if (status === 401) { location.reload(); return; }
    connected(false);
    if (name === "htmx:sse:error") {
      // What it received last may not have been shown: the next connection sends all of it.
      if (event.detail.connection) event.detail.connection.lastEventId = "";
      return;
    }
    if (again) return;
    again = setTimeout(() => { again = 0; htmx.trigger(part, "reconnect"); }, 2000);
  });
}
