// The source beside the stages: one selection, drawn in every pane.

const LABELS = {
  jaxpr: "jaxpr",
  stablehlo: "StableHLO",
  hlo: "HLO before optimisation",
  optimized_hlo: "optimised HLO",
};
const MOST_PANES = 3;

class Code {
  constructor(root, record, figures) {
    this.root = root;
    this.record = record;
    this.figures = figures;
    this.program = null;
    this.source = 0;
    this.pinned = this.hovered = null;
    this.panes = [];
    this.stages = root.querySelector(".stages");
    this.anchors = new Map();
    this.makeSource();
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.pin(null);
      else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.turn(event);
    });
  }

  makeSource() {
    this.sourcePane = new Pane("source", "python", this.events(() => this.sourcePane));
    this.sourcePane.root.classList.add("has-figs");
    const names = this.record.sources.map((source) => source.name);
    this.sourceSelect = select("Source", names, (index) => this.showSource(index));
    this.sourcePane.head.prepend(this.sourceSelect);
    this.root.querySelector(".left").prepend(this.sourcePane.root);
  }

  events(pane) {
    return {
      hover: (line, column) => this.hover(this.selection(pane(), line, column)),
      leave: () => this.hover(null),
      move: (line) => this.hover(this.selection(pane(), line, -1)),
      pick: (line, column) => this.pin(this.selection(pane(), line, column)),
    };
  }

  open(index) {
    this.program = this.record.programs[index] || { equations: [], stages: [] };
    this.programIndex = index;
    this.equations = new Equations(this.program);
    this.anchors.clear();
    this.pinned = this.hovered = null;
    this.showSource(this.source);
    const kinds = this.panes.length ? this.panes.map((pane) => pane.kind) : this.firstKinds();
    for (const pane of [...this.panes]) this.close(pane);
    for (const kind of kinds) this.add(kind);
  }

  firstKinds() {
    if (!this.record.programs.length) return [];
    return this.root.clientWidth > 1180 ? ["jaxpr", "optimized_hlo"] : ["optimized_hlo"];
  }

  stage(kind) {
    return (this.program.stages || []).find((stage) => stage.kind === kind);
  }

  anchorsOf(kind) {
    if (!this.anchors.has(kind)) this.anchors.set(kind, new Anchors(this.stage(kind), this.program));
    return this.anchors.get(kind);
  }

  /** Stage panes. */
  add(kind) {
    const pane = new Pane(kind, "ir", this.events(() => pane));
    const kinds = Object.keys(LABELS);
    const names = kinds.map((each) => LABELS[each] + (this.stage(each)?.text ? "" : " (no text)"));
    const chooser = select("Stage", names, (index) => this.fill(pane, kinds[index]));
    chooser.value = String(kinds.indexOf(kind));
    const copy = button("copy", "Copy this text", () => copyText(pane.lines.join("\n"), copy));
    const add = button("+", "Add a pane", () => this.add(this.nextKind()));
    const close = button("×", "Close this pane", () => this.close(pane));
    pane.add = add;
    pane.closer = close;
    pane.head.prepend(chooser);
    pane.head.append(copy, add, close);
    this.panes.push(pane);
    this.stages.append(pane.root);
    this.fill(pane, kind);
    this.limits();
  }

  nextKind() {
    const open = new Set(this.panes.map((pane) => pane.kind));
    return Object.keys(LABELS).find((kind) => !open.has(kind)) || "jaxpr";
  }

  close(pane) {
    this.panes = this.panes.filter((each) => each !== pane);
    pane.root.remove();
    this.limits();
  }

  limits() {
    for (const pane of this.panes) {
      pane.add.hidden = this.panes.length >= MOST_PANES;
      pane.closer.hidden = this.panes.length < 2;
    }
  }

  fill(pane, kind) {
    pane.kind = kind;
    pane.root.dataset.pane = kind;
    pane.scroll.setAttribute("aria-label", LABELS[kind]);
    const stage = this.stage(kind);
    const anchors = this.anchorsOf(kind);
    pane.inexact = new Set([...anchors.byLine].filter(([, a]) => !a.exact).map(([line]) => line));
    pane.turns = new Map();
    for (const [line, anchor] of anchors.byLine) {
      const turn = anchor.exact && TURNS[this.equations.byId.get(anchor.equations[0])?.phase];
      if (turn) pane.turns.set(line, turn);
    }
    this.tint(pane);
    pane.show(stage?.text ? splitLines(stage.text) : [], this.missing(stage, kind));
    this.draw();
  }

  missing(stage, kind) {
    if (stage?.text) return "";
    if (stage?.unavailable) return `There is no text of this stage: ${stage.unavailable.reason}.`;
    return `This text is not in this file. In Python, report.stage("${kind}").text gives it.`;
  }

  /** A stage line has the hue of the first of its equations that has a line here. */
  tint(pane) {
    pane.hues = new Map();
    const homes = this.equations.homes(this.source);
    for (const [line, anchor] of this.anchorsOf(pane.kind).byLine) {
      const home = anchor.equations.find((id) => homes.has(id));
      if (home !== undefined) pane.hues.set(line, this.hues.get(homes.get(home)));
    }
  }

  /** The source pane. */
  showSource(index) {
    this.source = index;
    const source = this.record.sources[index];
    const pane = this.sourcePane;
    const rows = this.figures[this.programIndex]?.[index] || {};
    const total = Object.values(rows).reduce((sum, row) => sum + (row[2] || 0), 0);
    const phases = Object.values(rows).some((row) => row.length > 4);
    pane.figures = this.record.programs.length ? (line) => figures(rows[line], total, phases) : null;
    pane.phases = phases;
    this.header(pane);
    const owners = this.equations.owners(index);
    const lines = [...new Set(owners.values())].sort((a, b) => a - b);
    // The golden angle keeps the hues of neighbours far apart, however many lines there are.
    const hue = new Map(lines.map((line, i) => [line, Math.round(250 + i * 137.508) % 360]));
    this.hues = new Map([...owners].map(([line, owner]) => [line, hue.get(owner)]));
    pane.hues = this.hues;
    pane.flags = new Set(
      (this.record.findings || []).filter((f) => (f.source || 0) === index).map((f) => f.line),
    );
    const texts = source ? splitLines(source.text) : [];
    pane.show(texts, texts.length ? "" : "The source is empty.");
    const tall = `${(texts.length + 1) * 20 + 84}px`;
    this.root.style.setProperty("--split", tall);
    this.root.style.setProperty("--tall", `min(70vh, ${tall})`);
    this.sourceSelect.value = String(index);
    for (const each of this.panes) this.tint(each);
    this.draw();
  }

  header(pane) {
    pane.body.querySelector(".colhead")?.remove();
    pane.root.classList.toggle("has-figs", Boolean(pane.figures));
    if (!pane.figures) return;
    const heads = element("div", "colhead");
    const columns = [
      ["fig-e", "eqns", "equations of the jaxpr"],
      ["fig-i", "instr", "instructions of the optimised HLO"],
      ["fig-f", "FLOP", "floating-point operations in one run, and their share"],
    ];
    if (pane.phases) {
      columns.splice(1, 0, ["fig-b", "bwd", "equations of the backward pass among them"]);
      columns.push(["fig-b", "bwd", "the share of the line's FLOPs that the backward pass does"]);
    }
    for (const [css, text, title] of columns) {
      const head = element("span", css, text);
      head.title = title;
      head.style.textAlign = "right";
      heads.append(head);
    }
    pane.body.append(heads);
  }

  /** What a line stands for: equations of the whole line (soft) and of the spot (hot). */
  selection(pane, line, column) {
    if (pane === this.sourcePane) {
      const soft = new Set(this.equations.byLine(this.source).get(line) || []);
      const spot = column < 0 ? new Set() : this.equations.at(this.source, line, column);
      return { pane, line, soft, hot: spot.size ? spot : soft, spot: spot.size > 0, exact: true };
    }
    const anchor = this.anchorsOf(pane.kind).byLine.get(line);
    const soft = new Set(anchor?.equations || []);
    return { pane, line, soft, hot: soft, exact: anchor?.exact ?? true, why: anchor?.why };
  }

  hover(selection) {
    if (same(selection, this.hovered)) return;
    this.hovered = selection;
    this.draw();
  }

  pin(selection) {
    this.pinned = same(selection, this.pinned) ? null : selection;
    this.hovered = null;
    this.draw();
    if (!this.pinned) return;
    for (const pane of [this.sourcePane, ...this.panes]) {
      if (pane === selection.pane) continue;
      const first = pane.hits.hot[0] ?? pane.hits.soft[0];
      if (first) pane.reveal(first);
    }
  }

  /** Lines of a pane that belong to equations. In the source, `own` leaves out their callers. */
  linesIn(pane, equations, own = false) {
    if (pane !== this.sourcePane) return this.anchorsOf(pane.kind).lines(equations);
    const lines = new Set();
    for (const id of equations) {
      const found = own ? this.equations.own(id, this.source) : this.equations.lines(id, this.source);
      for (const line of found) lines.add(line);
    }
    return [...lines].sort((a, b) => a - b);
  }

  spans(equations) {
    const found = new Map();
    for (const id of equations) {
      for (const { span: [first, start, last, end] } of this.equations.places(id, this.source)) {
        for (let line = first; line <= last; line++) {
          const text = this.sourcePane.lines[line - 1] || "";
          const from = line === first ? utf16(text, start) : text.search(/\S|$/);
          push(found, line, [from, line === last ? utf16(text, end) : text.length]);
        }
      }
    }
    return found;
  }

  draw() {
    const now = this.hovered || this.pinned;
    const none = new Set();
    for (const pane of [this.sourcePane, ...this.panes]) {
      const soft = now ? this.linesIn(pane, now.soft) : [];
      const other = now && (now.hot !== now.soft || pane === this.sourcePane);
      const hot = other ? this.linesIn(pane, now.hot, true) : soft;
      pane.hits = { hot, soft };
      const own = now?.pane === pane ? [now.line] : [];
      const source = pane === this.sourcePane;
      const spans = now && source && (now.spot || !own.length) ? this.spans(now.hot) : new Map();
      const hots = new Set(source && own.length ? own : [...hot, ...own]);
      pane.light(now ? new Set(soft) : none, now ? hots : none, spans);
      pane.foot.replaceChildren(element("span", "", ...this.words(pane, now, hot, soft)));
    }
  }

  /** The state of a pane in words. */
  words(pane, now, hot, soft) {
    const total = pane.lines.length;
    if (!now) {
      const all = pane.cut ? `; the last ${count(pane.cut, "line")} are left out` : "";
      return total ? [count(total, "line") + all] : [""];
    }
    if (now.pane === pane) {
      if (!now.soft.size) return [element("b", "", `line ${now.line}`), " became no equation"];
      const names = [...now.hot].map((id) => this.equations.byId.get(id)?.primitive);
      const list = [...new Set(names)].slice(0, 6).join(", ");
      const doubt = now.exact ? "" : ` · ≈ ${now.why || "candidates"}`;
      const words = `: ${count(now.hot.size, "equation")} · ${list}${doubt}`;
      return [element("b", "", `line ${now.line}`), words];
    }
    if (!now.soft.size) return ["—"];
    if (!soft.length) {
      return total ? ["no line of this text: folded, removed, or not told by the compiler"] : [""];
    }
    const unsure = soft.filter((line) => pane.inexact.has(line)).length;
    const doubt = unsure || !now.exact ? ` · ≈ ${unsure || "all"} by likeness only` : " · exact";
    const part = hot.length < soft.length ? `, ${hot.length} from the marked part` : "";
    return [element("b", "", count(soft.length, "line")), part + doubt];
  }

  /** Left and right move between the panes. */
  turn(event) {
    const panes = [this.sourcePane, ...this.panes];
    const here = panes.findIndex((pane) => pane.scroll === document.activeElement);
    if (here < 0) return;
    const next = panes[here + (event.key === "ArrowRight" ? 1 : -1)];
    if (!next) return;
    next.scroll.focus();
    event.preventDefault();
  }

  /** A finding's link: shows and pins its line. */
  go(source, line) {
    if (source !== this.source && this.record.sources[source]) this.showSource(source);
    this.sourcePane.activate(line, true);
    this.sourcePane.reveal(line);
    this.pinned = null;
    this.pin(this.selection(this.sourcePane, line, -1));
  }
}

/** Whether two selections are of one line and one spot in it. */
function same(a, b) {
  if (!a || !b) return a === b;
  if (a.pane !== b.pane || a.line !== b.line || a.hot.size !== b.hot.size) return false;
  return [...a.hot].every((id) => b.hot.has(id));
}
