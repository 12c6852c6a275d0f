/* Tables that can be ordered by a column, searched, and shown in part until somebody wants all. */

function worth(cell) {
  const value = cell.dataset.value;
  return value === undefined ? cell.textContent.trim().toLowerCase() : Number(value);
}

function makeSortable(box, table) {
  const body = table.tBodies[0];
  table.tHead.querySelectorAll("th").forEach((head, column) => {
    if (head.dataset.unsorted !== undefined) return;
    const button = element("button", "sort", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const upwards = head.getAttribute("aria-sort") === "descending";
      table.tHead.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
      const rows = [...body.rows].map((row, place) => [worth(row.cells[column]), place, row]);
      rows.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j));
      if (!upwards) rows.reverse();
      body.append(...rows.map(([, , row]) => row));
      box.show();
    });
  });
}

/* Decide which rows are seen: those that match, and of these the first ones unless all were asked for. */
function makePartial(box, table) {
  const first = Number(box.dataset.first || 0);
  const rows = () => [...table.tBodies[0].rows];
  const button = element("button", "more screen-only");
  button.type = "button";
  const count = element("p", "unseen");
  count.setAttribute("role", "status");
  let all = false;
  let words = "";
  box.search = (text) => {
    words = text.trim().toLowerCase();
    box.show();
  };
  box.show = () => {
    let seen = 0;
    let matching = 0;
    for (const row of rows()) {
      const matches = words === "" || row.textContent.toLowerCase().includes(words);
      matching += matches;
      row.hidden = !matches || (first > 0 && !all && seen >= first);
      seen += !row.hidden;
    }
    count.textContent = words === "" ? "" : `${matching} rows match`;
    button.hidden = first === 0 || matching <= first;
    button.textContent = all ? `Show the first ${first}` : `Show all ${matching}`;
  };
  button.addEventListener("click", () => {
    all = !all;
    box.show();
  });
  box.append(button, count);
  box.show();
}

function makeTable(box) {
  const table = box.querySelector("table");
  makePartial(box, table);
  if (box.dataset.sort !== undefined) makeSortable(box, table);
  if (box.dataset.filter === undefined) return;
  const label = element("label", "search screen-only", "Search ");
  const input = element("input");
  input.type = "search";
  input.addEventListener("input", () => box.search(input.value));
  label.append(input);
  box.prepend(label);
}
