// Tabs, theme, the choice of program, and the start.

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function tabs() {
  const all = [...document.querySelectorAll("[role=tab]")];
  const open = (tab) => {
    for (const each of all) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", chosen);
      each.tabIndex = chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    }
  };
  for (const tab of all) {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = all[(all.indexOf(tab) + step + all.length) % all.length];
      next.focus();
      open(next);
    });
  }
  return open;
}

function theme() {
  const root = document.documentElement;
  const node = document.getElementById("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => (node.textContent = dark() ? "Light" : "Dark");
  node.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
    document.dispatchEvent(new Event("jaxscope-theme"));
  });
  name();
}

/** The bar between source and stages can be dragged, or moved with the arrow keys. */
function grip(root) {
  const node = root.querySelector(".grip");
  const set = (x) => {
    const share = Math.min(75, Math.max(18, (x / root.clientWidth) * 100));
    root.style.setProperty("--left", `${share}%`);
    node.setAttribute("aria-valuenow", Math.round(share));
  };
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) set(event.clientX - root.getBoundingClientRect().left);
  });
  node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 24, ArrowLeft: -24 }[event.key];
    if (step) set(node.offsetLeft + step);
  });
}

function start() {
  const record = read("jaxscope-record");
  const figures = read("jaxscope-figures");
  const root = document.getElementById("code");
  const openTab = tabs();
  theme();
  grip(root);
  const code = new Code(root, record, figures);
  const chooser = document.getElementById("program");
  const choose = (index) => {
    for (const part of document.querySelectorAll("[data-program]")) {
      part.hidden = Number(part.dataset.program) !== index;
    }
    code.open(index);
  };
  chooser?.addEventListener("change", () => choose(Number(chooser.value)));
  choose(0);
  document.addEventListener("jaxscope-theme", () => code.draw());
  for (const link of document.querySelectorAll("a[data-line]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openTab(document.getElementById("tab-code"));
      code.go(Number(link.dataset.source), Number(link.dataset.line));
    });
  }
  // For tests, and for whoever looks from the browser's console.
  window.jaxscope = { record, code, short, share, visible, splitLines };
}

start();
