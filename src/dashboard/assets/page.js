// Adds to the pages what needs a script: themes, keys, filtering while typing, hovering and zooming.
// Every page works without it. It asks no other origin and changes nothing that is stored.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("script");

  // Light and dark: the system's choice until a reader makes one.
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const switchTheme = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a private window */ }
  };

  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // The chart: hover, keys, drag. It is replaced as a whole when another range is shown.
  let chart = null;

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.tip = byId("tip");
      this.told = byId("told");
      const data = byId("points");
      this.lines = data ? JSON.parse(data.textContent) : [];
      this.line = this.lines.findIndex((line) => line.points.length > 0);
      this.index = -1;
      this.drag = null;
      figure.addEventListener("pointermove", (event) => this.moved(event));
      figure.addEventListener("pointerdown", (event) => this.pressed(event));
      figure.addEventListener("pointerup", (event) => this.released(event));
      figure.addEventListener("pointerleave", () => { if (!this.drag) this.clear(); });
      figure.addEventListener("blur", () => this.clear());
      figure.addEventListener("keydown", (event) => this.key(event));
    }

    // The picture that is seen: the wide or the narrow one.
    svg() {
      return [...this.figure.querySelectorAll("svg.chart")].find((svg) => svg.getClientRects().length > 0);
    }

    scale(svg) {
      const number = (name) => Number(svg.dataset[name]);
      const [left, right, top, bottom] = ["left", "right", "top", "bottom"].map(number);
      const [t0, t1, v0, v1] = ["t0", "t1", "v0", "v1"].map(number);
      const clamp = (share) => Math.min(1, Math.max(0, share));
      return {
        left, right, top, bottom,
        x: (at) => left + clamp((at - t0) / (t1 - t0)) * (right - left),
        y: (value) => bottom - clamp((value - v0) / (v1 - v0)) * (bottom - top),
        at: (x) => t0 + clamp((x - left) / (right - left)) * (t1 - t0),
      };
    }

    // Where the pointer is, in the picture's own units.
    place(event, svg) {
      const box = svg.getBoundingClientRect();
      const ratio = svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.left) * ratio, y: (event.clientY - box.top) * ratio };
    }

    moved(event) {
      const svg = this.svg();
      if (!svg) return;
      const scale = this.scale(svg);
      const pointer = this.place(event, svg);
      if (this.drag) {
        this.drag.to = pointer.x;
        this.brush(svg, scale);
        return;
      }
      let best = null;
      this.lines.forEach((line, lineIndex) => line.points.forEach((point, index) => {
        const far = Math.hypot(scale.x(point.at) - pointer.x, (scale.y(point.v) - pointer.y) / 3);
        if (!best || far < best.far) best = { far, line: lineIndex, index };
      }));
      if (!best) return;
      this.line = best.line;
      this.index = best.index;
      this.show(false);
    }

    pressed(event) {
      const svg = this.svg();
      if (!svg || event.button !== 0 || event.pointerType === "touch") return;
      const { x } = this.place(event, svg);
      this.drag = { from: x, to: x };
      this.figure.setPointerCapture(event.pointerId);
    }

    released() {
      const svg = this.svg();
      const drag = this.drag;
      this.drag = null;
      if (!svg) return;
      svg.querySelector(".brush")?.remove();
      if (!drag) return;
      if (Math.abs(drag.to - drag.from) < 8) {
        this.open();
        return;
      }
      const scale = this.scale(svg);
      const [from, to] = [drag.from, drag.to].sort((a, b) => a - b).map((x) => scale.at(x));
      this.range(from, to);
    }

    brush(svg, scale) {
      svg.querySelector(".brush")?.remove();
      const x = Math.max(scale.left, Math.min(this.drag.from, this.drag.to));
      const end = Math.min(scale.right, Math.max(this.drag.from, this.drag.to));
      svg.append(make("rect", { class: "brush", x, y: scale.top, width: Math.max(0, end - x), height: scale.bottom - scale.top }));
    }

    // Shows another range of dates: the page's own address with `since` and `before`.
    range(from, to) {
      if (!byId("live")?.querySelector(".bar")) return;
      const text = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
      const address = new URL(location.href);
      address.searchParams.set("since", text(Math.floor(from)));
      address.searchParams.set("before", text(Math.ceil(to) + 1));
      address.searchParams.set("last", "10000");
      show(address.href);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const link = { "+": "in", "=": "in", "-": "out", "0": "all" }[event.key]
        || (event.shiftKey && { ArrowLeft: "earlier", ArrowRight: "later" }[event.key]);
      if (link) {
        const target = document.querySelector(`[data-key="${link}"]`);
        if (target) show(target.href, true);
        event.preventDefault();
        return;
      }
      const points = this.lines[this.line]?.points || [];
      const last = points.length - 1;
      const start = this.index < 0 ? last + 1 : this.index;
      const to = { ArrowLeft: start - 1, ArrowRight: Math.min(last, start + 1), Home: 0, End: last }[event.key];
      if (event.key === "Enter") this.open();
      else if (event.key === "Escape") this.clear();
      else if (event.key === "ArrowUp" || event.key === "ArrowDown") this.other(event.key === "ArrowUp" ? -1 : 1);
      else if (to !== undefined && last >= 0) {
        this.index = Math.min(last, Math.max(0, to));
        this.show(true);
      } else return;
      event.preventDefault();
    }

    // The nearest point of the next line with one.
    other(step) {
      const at = this.lines[this.line]?.points[this.index]?.at;
      for (let count = 1; count <= this.lines.length; count += 1) {
        const line = (this.line + step * count + this.lines.length * count) % this.lines.length;
        const points = this.lines[line].points;
        if (points.length === 0) continue;
        const nearest = (best, point, index) => Math.abs(point.at - at) < Math.abs(points[best].at - at) ? index : best;
        this.line = line;
        this.index = at === undefined ? points.length - 1 : points.reduce(nearest, 0);
        this.show(true);
        return;
      }
    }

    open() {
      const point = this.lines[this.line]?.points[this.index];
      if (point) location.assign(point.run);
    }

    show(aloud) {
      const svg = this.svg();
      const line = this.lines[this.line];
      const point = line?.points[this.index];
      if (!svg || !point) return;
      const scale = this.scale(svg);
      this.unmark();
      const [x, y] = [scale.x(point.at), scale.y(point.v)];
      svg.append(make("line", { class: "cursor", x1: x, x2: x, y1: scale.top, y2: scale.bottom }));
      svg.append(make("circle", { class: "spot", cx: x, cy: y, r: 4.5 }));
      const facts = [
        [point.value + (point.diff ? ` (${point.diff})` : ""), "strong"],
        [`${point.date} · ${point.commit}${point.change ? ` · ${point.change}` : ""}${point.tag ? ` · ${point.tag}` : ""}`, "span"],
      ];
      if (this.lines.length > 1) facts.push([line.label, "span"]);
      this.tip.replaceChildren(...facts.map(([text, name]) => {
        const row = document.createElement("div");
        const element = document.createElement(name);
        element.textContent = text;
        row.append(element);
        return row;
      }));
      this.tip.hidden = false;
      // Beside the pointer, not under it.
      this.tip.classList.toggle("left", x > (scale.left + scale.right) / 2);
      if (aloud) this.told.textContent = facts.map(([text]) => text).join(", ");
    }

    unmark() {
      for (const mark of this.figure.querySelectorAll(".cursor, .spot")) mark.remove();
    }

    clear() {
      this.unmark();
      this.tip.hidden = true;
    }
  }

  // Puts the chart of another address in the place of this one, and keeps the address.
  let wanted = 0;
  const show = async (address, keepFocus = false) => {
    wanted += 1;
    const mine = wanted;
    try {
      const answer = await fetch(address, { headers: { accept: "text/html" } });
      if (!answer.ok || answer.redirected) throw new Error("not this page");
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("live");
      if (mine !== wanted || !next) return;
      byId("live").replaceWith(document.adoptNode(next));
      history.replaceState(null, "", address);
      start();
      if (keepFocus) byId("plot")?.focus();
    } catch {
      location.assign(address);
    }
  };

  const start = () => {
    const figure = byId("plot");
    chart = figure ? new Chart(figure) : null;
    const live = byId("live");
    if (!live) return;
    live.addEventListener("click", (event) => {
      const link = event.target.closest(".bar a, .legend a, .note a");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      show(link.href);
    });
  };

  // Filters the rows of this page while a reader types; the button asks for all pages.
  const filterRows = (text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelectorAll("[data-row]")) {
      const group = row.closest(".group");
      const content = `${group?.getAttribute("aria-label") || ""} ${row.textContent}`.toLowerCase();
      row.hidden = !words.every((word) => content.includes(word));
    }
  };

  const keys = () => {
    const dialog = byId("keys");
    if (dialog.open) dialog.close(); else dialog.showModal();
  };

  let before = "";
  const pressed = (event) => {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const go = (index) => document.querySelectorAll(".top nav a")[index]?.click();
    if (event.key === "?") keys();
    else if (event.key === "t") switchTheme();
    else if (event.key === "/") document.querySelector("input[type=search]")?.focus();
    else if (before === "g" && event.key === "o") go(0);
    else if (before === "g" && event.key === "c") go(1);
    else if (["+", "=", "-", "0"].includes(event.key)) chart?.key(event);
    else {
      before = event.key;
      return;
    }
    before = "";
    event.preventDefault();
  };

  document.addEventListener("keydown", pressed);
  document.addEventListener("DOMContentLoaded", () => {
    byId("theme")?.addEventListener("click", switchTheme);
    byId("help")?.addEventListener("click", keys);
    const search = document.querySelector(".filter input[type=search]");
    search?.addEventListener("input", () => filterRows(search.value));
    start();
  });
})();
