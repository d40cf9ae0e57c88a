// Small nodes that the panes are made of.

/** A node with children; strings become text nodes, hidden characters spelled out. */
function element(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return node;
}

/** Marks of the lines of a backward pass. */
const TURNS = { backward: "←", recompute: "↻" };
const PHASES = {
  "←": "backward pass",
  "↻": "forward work that the backward pass does again",
};

/** Equations, instructions and FLOPs of a source line; with phases, how much of it is backward. */
function figures(row, total, phases) {
  const box = element("span", "figs");
  const [equations, instructions, flops, exact, backward, again] = row || [];
  const mark = exact === false ? "≈" : "";
  const part = total && flops ? flops / total : 0;
  const work = element("span", "fig-f");
  if (part) {
    const bar = element("i", "");
    bar.style.width = `${Math.max(part * 100, 2)}%`;
    work.append(bar);
  }
  const known = flops !== undefined && flops !== null;
  work.append(element("b", "", row ? (known ? mark + short(flops) : "—") : ""));
  if (part) work.title = `${share(part)} of the FLOPs`;
  box.append(
    element("span", "fig-e", row ? String(equations) : ""),
    ...(phases ? [element("span", "fig-b", row ? String(backward) : "")] : []),
    element("span", "fig-i", row ? (instructions === null ? "—" : mark + instructions) : ""),
    work,
    ...(phases ? [element("span", "fig-b", row ? (flops ? share((again || 0) / flops) : "—") : "")] : []),
  );
  return box;
}

/** Columns count code points in the record and UTF-16 units here. */
function utf16(text, column) {
  if (!/[\ud800-\udfff]/.test(text)) return column;
  return [...text].slice(0, column).join("").length;
}

function select(label, names, changed) {
  const node = element("select", "");
  node.setAttribute("aria-label", label);
  names.forEach((name, index) => {
    const option = element("option", "", name);
    option.value = String(index);
    node.append(option);
  });
  node.addEventListener("change", () => changed(Number(node.value)));
  return node;
}

function button(text, label, pressed) {
  const node = element("button", "icon", text);
  node.type = "button";
  node.title = label;
  node.setAttribute("aria-label", label);
  node.addEventListener("click", pressed);
  return node;
}

async function copyText(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    node.textContent = "copied";
  } catch {
    node.textContent = "not allowed";
  }
  setTimeout(() => (node.textContent = "copy"), 1500);
}
