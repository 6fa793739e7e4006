"use strict";
(() => {
  const texts = window.siteTexts, up = window.siteUp || "";
  const root = document.documentElement;
  const saved = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  if (saved()) root.dataset.theme = saved();
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a private window */ }
  });

  const plain = (text) => String(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const box = document.getElementById("search"), hits = document.getElementById("hits");
  const close = () => { hits.hidden = true; };
  const found = (words) => (window.siteIndex || []).map((entry) => {
    const title = plain(entry.t), text = plain(entry.x);
    let score = 0;
    for (const word of words) {
      if (title.includes(word)) score += 5; else if (text.includes(word)) score += 1; else return null;
    }
    return { entry, score, at: Math.max(0, text.indexOf(words[0])) };
  }).filter(Boolean).sort((a, b) => b.score - a.score).slice(0, 12);
  box.addEventListener("input", () => {
    const words = plain(box.value).split(/\s+/).filter(Boolean);
    hits.replaceChildren();
    hits.hidden = !words.length;
    if (!words.length) return;
    const list = found(words);
    for (const { entry, at } of list) {
      const link = document.createElement("a"), small = document.createElement("small");
      link.href = entry.u.startsWith("#") ? entry.u : up + entry.u;
      link.textContent = entry.t;
      small.textContent = (at > 40 ? "…" : "") + entry.x.slice(Math.max(0, at - 40), at + 90);
      link.append(small);
      hits.append(link);
    }
    if (!list.length) hits.append(Object.assign(document.createElement("p"), { textContent: texts.none }));
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; close(); }
    if (event.key === "ArrowDown" && hits.firstChild) { event.preventDefault(); hits.firstChild.focus?.(); }
    if (event.key === "Enter" && hits.querySelector("a")) location.href = hits.querySelector("a").href;
  });
  document.addEventListener("click", (event) => { if (!hits.contains(event.target) && event.target !== box) close(); });
  hits.addEventListener("click", close);

  const language = root.lang || "en";
  for (const part of document.querySelectorAll("[data-rows]")) {
    const data = JSON.parse(document.getElementById(part.dataset.rows).textContent);
    const body = part.querySelector("tbody"), more = part.querySelector(".more");
    const form = part.querySelector(".filters"), count = part.querySelector(".count");
    const formats = data.columns.map((c) => c.number ? new Intl.NumberFormat(language, { minimumFractionDigits: c.digits, maximumFractionDigits: c.digits, useGrouping: c.grouped }) : null);
    const show = (value, at) => value === null ? "" : formats[at] && typeof value === "number" ? formats[at].format(value) : String(value);
    const whole = new Intl.NumberFormat(language);
    let rows = data.rows, shown = 0, order = null;
    const draw = (next) => {
      const made = document.createDocumentFragment();
      for (const row of rows.slice(shown, shown + next)) {
        const line = made.appendChild(document.createElement("tr"));
        row.forEach((value, at) => {
          const cell = line.appendChild(document.createElement("td"));
          cell.textContent = show(value, at);
          if (data.columns[at].number) cell.className = "number"; else if (cell.textContent.length > 40) cell.title = cell.textContent;
        });
      }
      body.append(made);
      shown = Math.min(rows.length, shown + next);
      more.hidden = shown >= rows.length;
    };
    const update = () => {
      const find = plain(form.querySelector("[data-find]").value).split(/\s+/).filter(Boolean);
      const chosen = [...form.querySelectorAll("select")].filter((s) => s.value).map((s) => [Number(s.dataset.column), s.value]);
      rows = data.rows.filter((row) => chosen.every(([at, value]) => String(row[at] ?? "") === value)
        && (!find.length || (() => { const line = plain(row.map((v, at) => show(v, at)).join(" ")); return find.every((word) => line.includes(word)); })()));
      if (order) {
        const { at, down } = order, number = data.columns[at].number;
        rows.sort((a, b) => (a[at] === null) - (b[at] === null) || (down ? -1 : 1) * (number ? a[at] - b[at] : String(a[at]).localeCompare(String(b[at]), language, { numeric: true })));
      }
      const sums = data.columns.map((c, at) => c.sum ? `${c.label} ${formats[at].format(rows.reduce((all, row) => all + (row[at] || 0), 0))}` : "").filter(Boolean);
      count.textContent = [texts.rows.replace("{count}", whole.format(rows.length)).replace("{all}", whole.format(data.rows.length)), ...sums].join(" · ");
      body.replaceChildren();
      shown = 0;
      draw(200);
    };
    part.querySelectorAll("th").forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        order = { at, down: order && order.at === at ? !order.down : Boolean(data.columns[at].number) };
        part.querySelectorAll("th").forEach((other, place) => {
          if (place === at) other.setAttribute("aria-sort", order.down ? "descending" : "ascending"); else other.removeAttribute("aria-sort");
          other.firstChild.textContent = data.columns[place].label + (place === at ? (order.down ? " ↓" : " ↑") : "");
        });
        update();
      });
    });
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", update);
    form.addEventListener("reset", () => setTimeout(update));
    more.addEventListener("click", () => draw(500));
    update();
  }
})();
