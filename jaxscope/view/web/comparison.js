// The table of a comparison: click a head to sort, untick a name to hide its column, copy as text.
const table = document.getElementById("all");
const heads = [...table.tHead.rows[0].cells];
const body = table.tBodies[0];

const key = (row, column) => {
  const cell = row.cells[column];
  const value = cell.dataset.value;
  if (value === undefined) return cell.textContent;
  return value === "" ? NaN : Number(value);
};

const sort = (column) => {
  const head = heads[column];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of heads) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const sign = down ? -1 : 1;
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

heads.forEach((head, column) => {
  head.querySelector("button").addEventListener("click", () => sort(column));
});

for (const box of document.querySelectorAll("#columns input")) {
  box.addEventListener("change", () => {
    const column = Number(box.value);
    for (const row of table.rows) row.cells[column].hidden = !box.checked;
  });
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text below and copy it";
      document.getElementById(button.dataset.copy).closest("details").open = true;
    }
    setTimeout(() => { button.textContent = said; }, 2000);
  });
}
