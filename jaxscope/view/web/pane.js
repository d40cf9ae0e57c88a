// One text pane. Rows have one height, so that only those in sight are in the page: 100 000 lines
// scroll like ten. Text reaches the page as text nodes only.

const ROW = 20;
const SPARE = 10; // rows kept above and below the window
const LONGEST = 4000; // characters of a line that are drawn
const MOST_FOUND = 9999;
const TALLEST = 16_000_000; // px; above this, browsers stop placing rows truly

class Pane {
  /** `events`: hover(line, column), leave(), pick(line, column), move(line). */
  constructor(name, language, events) {
    this.language = language;
    this.events = events;
    this.lines = [];
    this.rows = new Map();
    this.soft = this.hot = this.inexact = new Set();
    this.hues = new Map();
    this.spans = new Map();
    this.active = 0;
    this.found = [];
    this.now = -1;
    this.head = element("header", "");
    this.scroll = element("div", "scroll");
    this.scroll.tabIndex = 0;
    this.scroll.setAttribute("role", "listbox");
    this.scroll.setAttribute("aria-label", name);
    this.sizer = element("div", "sizer");
    this.scroll.append(this.sizer);
    this.ruler = element("canvas", "ruler");
    this.body = element("div", "body", this.scroll, this.ruler);
    this.foot = element("footer", "");
    this.foot.setAttribute("role", "status");
    this.root = element("section", "pane", this.head, this.body, this.foot);
    this.root.dataset.pane = name;
    this.head.append(this.finder());
    this.listen();
  }

  finder() {
    this.input = element("input", "");
    this.input.type = "search";
    this.input.placeholder = "Search";
    this.input.setAttribute("aria-label", "Search in this text");
    this.output = element("output", "");
    this.input.addEventListener("input", () => this.find(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        this.input.value = "";
        this.find("");
        this.scroll.focus();
      }
      event.stopPropagation();
    });
    return element("span", "find", this.output, this.input);
  }

  listen() {
    this.scroll.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(this.scroll);
    this.sizer.addEventListener("mousemove", (event) => {
      const line = this.lineOf(event.target);
      if (line) this.events.hover(line, this.columnOf(event, line));
    });
    this.sizer.addEventListener("mouseleave", () => this.events.leave());
    this.sizer.addEventListener("click", (event) => {
      const line = this.lineOf(event.target);
      if (!line || !getSelection().isCollapsed) return; // the user marks text
      this.activate(line, false);
      this.events.pick(line, this.columnOf(event, line));
    });
    this.scroll.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in steps && !event.ctrlKey && !event.metaKey) {
      const line = Math.min(Math.max(1, (this.active || 0) + steps[event.key]), this.lines.length);
      this.activate(line, true);
      this.events.move(line);
    } else if (event.key === "Enter" && this.active) this.events.pick(this.active, -1);
    else if (event.key === "/") this.input.focus();
    else return;
    event.preventDefault();
  }

  lineOf(target) {
    const row = target.closest(".row");
    return row ? Number(row.dataset.line) : 0;
  }

  /** The character under the pointer, or -1 where it cannot be told. */
  columnOf(event, line) {
    const text = this.rows.get(line)?.lastChild;
    if (!text || !/^[\x20-\x7e]*$/.test(this.lines[line - 1])) return -1;
    const box = text.getBoundingClientRect();
    const width = this.charWidth();
    const column = Math.floor((event.clientX - box.left) / width);
    return column < this.lines[line - 1].length ? column : -1;
  }

  charWidth() {
    if (!this.width) {
      const probe = element("span", "text", "0".repeat(100));
      const row = element("div", "row", probe);
      row.style.visibility = "hidden";
      this.sizer.append(row);
      probe.style.padding = "0";
      this.width = probe.getBoundingClientRect().width / 100 || 7.2;
      row.remove();
    }
    return this.width;
  }

  /** Shows lines, or a sentence when there are none. */
  show(lines, message = "") {
    const most = Math.floor(TALLEST / ROW);
    this.lines = lines.length > most ? lines.slice(0, most) : lines;
    this.cut = lines.length - this.lines.length;
    this.digits = String(this.lines.length).length;
    let longest = 0;
    for (const line of this.lines) if (line.length > longest) longest = line.length;
    this.rows.clear();
    this.active = 0;
    this.scroll.scrollTop = 0;
    this.sizer.replaceChildren();
    if (message) this.sizer.append(element("div", "message", message));
    const gutter = this.digits + 8 + (this.figures ? (this.phases ? 34 : 26) : 0);
    this.sizer.style.height = message ? "auto" : `${this.lines.length * ROW + 4}px`;
    this.sizer.style.minWidth = `${Math.min(longest, LONGEST) + gutter}ch`;
    this.find(this.input.value);
    this.render();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  render() {
    const top = this.scroll.scrollTop;
    const first = Math.max(1, Math.floor(top / ROW) + 1 - SPARE);
    const last = Math.min(
      this.lines.length,
      Math.ceil((top + this.scroll.clientHeight) / ROW) + SPARE,
    );
    for (const [line, row] of this.rows) {
      if (line < first || line > last) {
        row.remove();
        this.rows.delete(line);
      }
    }
    const fresh = document.createDocumentFragment();
    for (let line = first; line <= last; line++) {
      if (!this.rows.has(line)) fresh.append(this.make(line));
    }
    this.sizer.append(fresh);
    if (this.ruler.clientHeight !== this.ruled) this.rule();
  }

  make(line) {
    const row = element("div", "row");
    row.dataset.line = line;
    row.setAttribute("role", "option");
    row.style.transform = `translateY(${(line - 1) * ROW}px)`;
    const gutter = element("span", "gutter");
    if (this.figures) gutter.append(this.figures(line));
    const number = element("span", "num", String(line));
    number.style.width = `${this.digits + 2.5}ch`;
    const mark = element("span", "mark", this.flag(line));
    if (mark.textContent in PHASES) {
      mark.classList.add("phase");
      mark.title = PHASES[mark.textContent];
    }
    gutter.append(number, mark);
    row.append(gutter, element("span", "text", ...this.parts(line)));
    this.rows.set(line, row);
    this.dress(line, row);
    return row;
  }

  flag(line) {
    if (this.inexact.has(line)) return "≈";
    return this.flags?.has(line) ? "!" : (this.turns?.get(line) ?? "");
  }

  parts(line) {
    const whole = this.lines[line - 1];
    const raw = whole.length > LONGEST ? whole.slice(0, LONGEST) : whole;
    const ranges = [];
    for (const [start, end] of this.spans.get(line) || []) ranges.push([start, end, "span"]);
    if (this.query) {
      this.foundIn(line).forEach(([index, column]) => {
        const css = index === this.now ? "found now" : "found";
        ranges.push([column, column + this.query.length, css]);
      });
    }
    const parts = [];
    for (const [part, css] of segments(tokens(raw, this.language), ranges)) {
      parts.push(css ? element("span", css, part) : visible(part));
    }
    if (raw !== whole) {
      const more = ` … ${count(whole.length - LONGEST, "more character")}`;
      parts.push(element("span", "c", more));
    }
    return parts;
  }

  dress(line, row) {
    const hue = this.hues.get(line);
    row.classList.toggle("linked", hue !== undefined);
    if (hue !== undefined) row.style.setProperty("--h", hue);
    const hot = this.hot.has(line);
    row.classList.toggle("hot", hot);
    row.classList.toggle("soft", !hot && this.soft.has(line));
    row.classList.toggle("inexact", this.inexact.has(line));
    row.classList.toggle("active", line === this.active);
    row.setAttribute("aria-selected", hot || this.soft.has(line));
  }

  /** Draws again what is in sight, after a change of highlights; `texts`: the lines whose text
   *  changed too, or true for all. */
  refresh(texts) {
    for (const [line, row] of this.rows) {
      // The node stays, so that a click that began on it ends on it.
      if (texts === true || texts?.has(line)) row.lastChild.replaceChildren(...this.parts(line));
      this.dress(line, row);
    }
    this.rule();
  }

  light(soft, hot, spans = new Map()) {
    const texts = new Set([...spans.keys(), ...this.spans.keys()]);
    this.soft = soft;
    this.hot = hot;
    this.spans = spans;
    this.refresh(texts);
  }

  activate(line, follow) {
    const before = this.active;
    this.active = line;
    if (follow) this.reveal(line, false);
    for (const each of [before, line]) {
      const row = this.rows.get(each);
      if (row) this.dress(each, row);
    }
    const row = this.rows.get(line);
    if (row) {
      row.id ||= `row-${Math.random().toString(36).slice(2)}`;
      this.scroll.setAttribute("aria-activedescendant", row.id);
    }
  }

  /** Scrolls until the line is in sight; `centre` puts it into the upper third. */
  reveal(line, centre = true) {
    const top = (line - 1) * ROW;
    const { scrollTop, clientHeight } = this.scroll;
    if (top >= scrollTop && top + ROW <= scrollTop + clientHeight) return;
    const edge = top < scrollTop ? top : top + ROW - clientHeight;
    this.scroll.scrollTop = Math.max(0, centre ? top - clientHeight / 3 : edge);
    this.render();
  }

  /** Marks beside the scroll bar where highlighted lines are. */
  rule() {
    const { clientWidth: width, clientHeight: height } = this.ruler;
    const pixels = devicePixelRatio || 1;
    this.ruled = height;
    if (this.ruler.height !== height * pixels) {
      this.ruler.width = width * pixels;
      this.ruler.height = height * pixels;
    }
    const context = this.ruler.getContext("2d");
    context.clearRect(0, 0, this.ruler.width, this.ruler.height);
    if (!this.lines.length) return;
    const style = getComputedStyle(this.root);
    const mark = (lines, color) => {
      context.fillStyle = color;
      let last = -1;
      for (const line of lines) {
        const y = Math.round(((line - 0.5) / this.lines.length) * this.ruler.height);
        if (y !== last) context.fillRect(0, y, this.ruler.width, 2 * pixels);
        last = y;
      }
    };
    mark(this.found.map(([line]) => line), style.getPropertyValue("--heat-plain"));
    mark(this.soft, style.getPropertyValue("--accent-plain"));
    mark(this.hot, style.getPropertyValue("--accent-plain"));
  }

  find(query) {
    this.query = query;
    this.found = [];
    this.now = -1;
    const wanted = query.toLowerCase();
    for (let i = 0; wanted && i < this.lines.length && this.found.length < MOST_FOUND; i++) {
      const line = this.lines[i].toLowerCase();
      for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
        this.found.push([i + 1, at]);
      }
    }
    if (this.found.length) this.step(1);
    else {
      this.output.textContent = query ? "no match" : "";
      this.refresh(true);
    }
  }

  step(by) {
    if (!this.found.length) return;
    this.now = (this.now + by + this.found.length) % this.found.length;
    this.output.textContent = `${this.now + 1} / ${this.found.length}`;
    this.reveal(this.found[this.now][0]);
    this.refresh(true);
  }

  /** [index, column] of the matches in one line; the list is in order, so bisect. */
  foundIn(line) {
    let low = 0;
    let high = this.found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.found[middle][0] < line) low = middle + 1;
      else high = middle;
    }
    const hits = [];
    for (let i = low; i < this.found.length && this.found[i][0] === line; i++) {
      hits.push([i, this.found[i][1]]);
    }
    return hits;
  }
}
