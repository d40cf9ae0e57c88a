// Tables of a page: click a head to sort, untick a name to hide its column. Texts can be copied.
const made = (name, text, parent) => {
  const element = document.createElement(name);
  element.textContent = text;
  parent.append(element);
  return element;
};

const key = (row, column) => {
  const cell = row.cells[column];
  const value = cell.dataset.value;
  return value === undefined ? cell.textContent : Number(value);
};

const sort = (table, heads, column) => {
  const head = heads[column];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of heads) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const sign = down ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, index) => ({ row, index, value: key(row, column) }));
  rows.sort((a, b) => {
    if (typeof a.value === "string") return sign * a.value.localeCompare(b.value) || a.index - b.index;
    // Rows without the figure stay last, whichever way it goes.
    if (Number.isNaN(a.value) || Number.isNaN(b.value))
      return Number.isNaN(a.value) - Number.isNaN(b.value) || a.index - b.index;
    return sign * (a.value - b.value) || a.index - b.index;
  });
  body.append(...rows.map(({ row }) => row));
};

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const columns = document.createElement("fieldset");
  columns.setAttribute("aria-label", "Columns");
  heads.forEach((head, column) => {
    const name = head.textContent;
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => {
      for (const row of table.rows) row.cells[column].hidden = !box.checked;
    });
    label.append(box, ` ${name}`);
    columns.append(label);
    head.textContent = "";
    head.setAttribute("aria-sort", "none");
    made("button", name, head).addEventListener("click", () => sort(table, heads, column));
  });
  const hint = document.createElement("p");
  hint.className = "muted";
  hint.textContent = "Click a head to sort by it.";
  table.before(hint, columns);
}

for (const text of document.querySelectorAll("pre.copied")) {
  const details = text.closest("details");
  const button = document.createElement("button");
  const name = `Copy ${details.querySelector("summary").textContent.replace("As", "as")}`;
  button.textContent = name;
  details.before(button);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text below and copy it";
      details.open = true;
    }
    setTimeout(() => { button.textContent = name; }, 2000);
  });
}
