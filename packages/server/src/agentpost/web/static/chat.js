// The composer: files by button, drop and paste, sent with progress; messages without a new page.

const human = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
const mebibytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MB`;

// --- one file ------------------------------------------------------------------------------------
class Upload {
  constructor(file, composer) {
    this.file = file;
    this.state = "sending";
    this.chip = document.createElement("li");
    const name = document.createElement("bdi");
    name.className = "one-line";
    name.textContent = name.title = file.name;
    this.bar = document.createElement("progress");
    this.bar.max = 100;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", `Sending ${file.name}`);
    this.note = document.createElement("span");
    this.note.className = "soft";
    this.note.textContent = human(file.size);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "quiet small";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Remove ${file.name}`);
    // The files move while their progress is written: what was pressed stays what is clicked.
    remove.addEventListener("pointerdown", (event) => remove.setPointerCapture(event.pointerId));
    remove.addEventListener("click", () => { this.removed = true; this.request?.abort(); this.forget(); composer.remove(this); });
    this.chip.append(name, this.note, this.bar, remove);
    this.done = Promise.race([this.send(composer.form.dataset.uploads), new Promise((done) => { this.forget = done; })]);
  }

  async send(address) {
    try {
      const { name, size, type } = this.file;
      const place = await json(address, { name, size, type });
      if (this.removed) return;
      await this.post(place);
      await json(`${address}/${place.id}/complete`, {});
      this.id = place.id;
      this.state = "ready";
      this.bar.remove();
      this.note.textContent = human(this.file.size);
      this.chip.classList.add("ready");
    } catch (problem) {
      if (this.removed) return;
      this.state = "failed";
      this.bar.remove();
      this.note.textContent = problem.message;
      this.chip.classList.add("failed");
    }
  }

  post({ url, fields }) {
    return new Promise((done, fail) => {
      const request = (this.request = new XMLHttpRequest());
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
      body.append("file", this.file);
      request.upload.addEventListener("progress", (event) => {
        if (!event.lengthComputable) return;
        this.bar.value = (100 * event.loaded) / event.total;
        this.note.textContent = `${Math.round(this.bar.value)} % of ${human(this.file.size)}`;
      });
      const ends = { error: "The connection broke. Remove the file and add it again.", abort: "It was cancelled." };
      request.addEventListener("load", () => {
        if (request.status < 300) done();
        else fail(new Error(request.status === 413 ? "The file is too large." : "The file was refused."));
      });
      for (const [name, text] of Object.entries(ends)) request.addEventListener(name, () => fail(new Error(text)));
      request.open("POST", url);
      request.send(body);
    });
  }
}

async function json(address, fields) {
  const response = await fetch(address, { method: "POST", body: new URLSearchParams(fields) });
  const answer = await response.json().catch(() => ({ error: "The server did not answer." }));
  if (!response.ok || answer.error) throw new Error(answer.error ?? "The server refused it.");
  return answer;
}

// --- one form ------------------------------------------------------------------------------------
class Composer {
  constructor(form) {
    this.form = form;
    this.files = [];
    this.text = form.querySelector("textarea, input[name=text]");
    this.chips = form.querySelector(".chips");
    this.wrong = form.querySelector(".wrong");
    form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    // What was typed outlives a new page, not the tab.
    this.draft = `draft ${this.form.action} ${this.text.id}`;
    this.text.value ||= sessionStorage.getItem(this.draft) ?? "";
    this.text.addEventListener("input", () => { sessionStorage.setItem(this.draft, this.text.value); this.forgive(); });
    if (this.text.tagName === "TEXTAREA") {
      this.text.addEventListener("input", () => this.grow());
      this.text.addEventListener("keydown", (event) => this.key(event));
      this.grow();
    }
    const input = form.querySelector("input[type=file]");
    if (!input) return;
    form.querySelector(".attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => { this.add(input.files); input.value = ""; });
    this.text.addEventListener("paste", (event) => {
      if (event.clipboardData.files.length) { event.preventDefault(); this.add(event.clipboardData.files); }
    });
    let inside = 0;
    const brings = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    addEventListener("dragenter", (event) => {
      if (!brings(event)) return;
      inside += 1;
      form.classList.add("dropping");
    });
    addEventListener("dragleave", () => { inside = Math.max(inside - 1, 0); if (!inside) form.classList.remove("dropping"); });
    addEventListener("dragover", (event) => { if (brings(event)) event.preventDefault(); });
    addEventListener("drop", (event) => {
      if (!brings(event)) return;
      event.preventDefault();
      inside = 0;
      form.classList.remove("dropping");
      this.add(event.dataTransfer.files);
    });
    addEventListener("beforeunload", (event) => { if (this.files.length) event.preventDefault(); });
  }

  // What is too much is not added, and said.
  refusal(file) {
    const { filesMax, fileBytesMax, bytesMax } = this.form.dataset;
    const sum = this.files.reduce((bytes, upload) => bytes + upload.file.size, file.size);
    if (this.files.length >= filesMax) return `A message has up to ${filesMax} files: ${file.name} was not added.`;
    if (file.size > fileBytesMax) return `${file.name} is too large: a file has up to ${mebibytes(fileBytesMax)}.`;
    if (sum > bytesMax) return `The files of a message have up to ${mebibytes(bytesMax)} together: ${file.name} was not added.`;
    return "";
  }

  add(files) {
    this.say("");
    for (const file of files) {
      const refusal = this.refusal(file);
      if (refusal) { this.say(refusal); continue; }
      const upload = new Upload(file, this);
      this.files.push(upload);
      this.chips.append(upload.chip);
    }
    this.text.focus();
  }

  remove(upload) {
    this.files = this.files.filter((each) => each !== upload);
    upload.chip.remove();
    this.say("");
    this.text.focus();
  }

  // As high as the text, up to what the stylesheet allows; lines that wrap count.
  grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
  }

  key(event) {
    const touch = matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  async send() {
    const button = this.form.querySelector("button:not([type=button])");
    if (button.disabled) return;
    button.disabled = true;
    this.say("");
    try {
      while (this.files.some((upload) => upload.state === "sending")) {
        this.say("Sends when the files are there…", true);
        await Promise.all(this.files.map((upload) => upload.done));
      }
      this.say("");
      if (this.files.some((upload) => upload.state === "failed")) throw new Error("Remove the file that could not be sent.");
      const body = new URLSearchParams({ text: this.text.value });
      for (const upload of this.files) body.append("upload", upload.id);
      const response = await fetch(this.form.action, { method: "POST", body });
      if (!response.ok) throw new Error(await problem(response));
      sessionStorage.removeItem(this.draft);
      const went = new URL(response.url);
      this.files = [];
      this.text.value = "";  // also of a page that is left: the way back finds it empty
      if (went.pathname !== location.pathname || location.search) { location.href = went; return; }
      this.chips?.replaceChildren();
      if (this.text.tagName === "TEXTAREA") this.grow();
      stick = true;
      follow();
    } catch (error) {
      this.say(error instanceof TypeError ? "The server cannot be reached. Your text is still here." : error.message);
    } finally {
      button.disabled = false;
    }
  }

  // What was wrong is no longer said of a text that changes.
  forgive() {
    if (!this.wrong.classList.contains("calm")) this.say("");
  }

  say(text, isCalm = false) {
    this.wrong.textContent = text;
    this.wrong.classList.toggle("calm", isCalm);
  }
}

async function problem(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const said = page.querySelector("form[data-say] .wrong")?.textContent || page.querySelector("main p")?.textContent;
  return said || "The message could not be sent.";
}

// --- the end of the conversation stays in view ----------------------------------------------------
// Whoever reads further up stays there. Of an answer that is taller than the window, its beginning
// is shown, not its end.
let stick = true;
let put = -1;  // where we scrolled to: that is no scrolling of the reader
const page = document.scrollingElement;
const isLong = document.querySelector("main.chat");
function atEnd() { return page.scrollHeight - page.scrollTop - page.clientHeight < 160; }
function follow() {
  if (!isLong) return;
  const runs = document.querySelector(".exchange:last-of-type > [data-open]");
  const answer = !runs && [...document.querySelectorAll(".exchange:last-of-type > :is(.job:not([data-open]), .markdown)")].at(-1);
  const head = document.querySelector(".talk-head")?.getBoundingClientRect().bottom ?? 0;
  const begin = answer ? page.scrollTop + answer.getBoundingClientRect().top - head - 12 : Infinity;
  page.scrollTop = Math.min(page.scrollHeight, begin);
  put = page.scrollTop;
}

const here = document.querySelector(".job.here");
if (isLong && !location.hash && !location.search) {
  // The page of one work among others begins there, any other at its end.
  if (here && here.closest(".exchange").nextElementSibling?.matches(".exchange")) {
    stick = false;
    here.closest(".exchange").scrollIntoView();
  } else {
    follow();
  }
  addEventListener("scroll", () => { if (Math.abs(page.scrollTop - put) > 2) { stick = atEnd(); put = -1; } }, { passive: true });
  new ResizeObserver(() => { if (stick) follow(); }).observe(document.querySelector("main.chat"));
}

// --- what failed is written again ----------------------------------------------------------------
addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-again]");
  if (!button) return;
  const box = document.getElementById("composer-text");
  box.value = button.closest(".exchange").querySelector(".bubble .text").textContent;
  box.dispatchEvent(new Event("input"));
  box.focus();
});

// --- a button that does something does it once ----------------------------------------------------
addEventListener("submit", (event) => {
  const { classList, dataset } = event.target;
  if (!classList.contains("inline") || event.defaultPrevented) return;
  if (dataset.sent) event.preventDefault();
  dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
});

// --- start ---------------------------------------------------------------------------------------
const known = new WeakSet();
function begin() {
  for (const form of document.querySelectorAll("form[data-say]")) {
    if (known.has(form)) continue;
    known.add(form);
    new Composer(form);
  }
}
document.documentElement.classList.add("scripted");
begin();
new MutationObserver(begin).observe(document.body, { childList: true, subtree: true });
