"use strict";
// Adds to a page that is complete without it: sorting and filtering, downloads, copying, the theme, and a link that keeps
// the state. Labels may contain any text, so they are only compared, and written as text.
(() => {
  const root = document.documentElement;
  const find = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  function element(name, attributes, text, onClick) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    if (onClick) node.addEventListener("click", onClick);
    return node;
  }

  const button = (text, onClick, kind = "tool") => element("button", { type: "button", class: kind }, text, onClick);

  // ---- the state in the link: #section?key=value&... ----

  const [anchor, query] = location.hash.slice(1).split("?");
  const state = new URLSearchParams(query || "");

  function keep(key, value) {
    if (value) state.set(key, value);
    else state.delete(key);
    const text = state.toString();
    history.replaceState(null, "", `#${location.hash.slice(1).split("?")[0]}${text ? `?${text}` : ""}`);
  }

  // ---- light and dark ----

  const theme = find("#theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  function sayTheme() {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"} colours`);
  }

  if (state.get("theme")) root.dataset.theme = state.get("theme") === "dark" ? "dark" : "light";
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep("theme", root.dataset.theme);
    sayTheme();
  });
  prefersDark.addEventListener("change", sayTheme);
  theme.hidden = false;
  sayTheme();

  // ---- tables that are sorted by a column ----

  const collator = new Intl.Collator("en", { numeric: true });
  const cellOf = (body, column) => body.rows[0].cells[column];

  function sortable(table, key) {
    const bodies = [...table.tBodies];
    const heads = [...table.tHead.rows[0].cells];
    const order = { column: -1, isUp: false };

    function keyOf(body, column) {
      const cell = cellOf(body, column);
      if (!heads[column].classList.contains("number")) return cell.textContent;
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    }

    function sortBy(column, isUp) {
      Object.assign(order, { column, isUp });
      const keyed = bodies.map((body, place) => [keyOf(body, column), place, body]);
      keyed.sort(([a, i], [b, j]) => {
        if (a === null || b === null) return (a === null) - (b === null) || i - j;
        const sign = isUp ? 1 : -1;
        return sign * (typeof a === "string" ? collator.compare(a, b) : a - b) || i - j;
      });
      table.append(...keyed.map((item) => item[2]));
      heads.forEach((head, i) => head.setAttribute("aria-sort", i !== column ? "none" : isUp ? "ascending" : "descending"));
    }

    heads.forEach((head, column) => {
      const sort = element("button", { type: "button", class: "sort" }, "", () => {
        sortBy(column, order.column === column ? !order.isUp : !head.classList.contains("number"));
        keep(key, `${order.isUp ? "" : "-"}${column}`);
      });
      sort.append(...head.childNodes);
      head.append(sort);
    });
    const sorted = /^(-?)(\d+)$/.exec(state.get(key) || "");
    if (sorted && Number(sorted[2]) < heads.length) sortBy(Number(sorted[2]), !sorted[1]);
  }

  all("table.sortable").forEach((table, i) => sortable(table, i ? `sort${i + 1}` : "sort"));

  // ---- the table of relations: filtered ----

  const relations = find("#relations table.sortable");

  if (relations) {
    const bodies = [...relations.tBodies];
    const fields = ["search", "least", "sure"].map((id) => document.getElementById(id)).filter(Boolean);
    const filter = () => {
      const value = Object.fromEntries(fields.map((field) => [field.id, field.value]));
      const words = value.search.toLowerCase();
      let n = 0;
      for (const body of bodies) {
        const { n: ranks, pattern = "", sure = "none" } = body.dataset;
        const text = `${cellOf(body, 0).textContent} ${pattern}`.toLowerCase();
        body.hidden = !(text.includes(words) && Number(ranks) >= Number(value.least)
          && (!value.sure || sure === value.sure));
        if (!body.hidden) n += 1;
      }
      find("#relations-shown").textContent = `${n.toLocaleString("en")} of ${bodies.length.toLocaleString("en")} relations`;
    };
    for (const field of fields) {
      if (state.has(field.id)) field.value = state.get(field.id);
      field.addEventListener(field.tagName === "SELECT" ? "change" : "input", () => {
        keep(field.id, field.value === "0" ? "" : field.value);
        filter();
      });
    }
    find("#relations .controls").hidden = false;
    filter();
  }

  // ---- downloads and copying ----

  function download(name, type, text) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name }, "");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function textOf(cell) {
    const label = cell.tagName === "TH" && cell.scope === "row" && find("bdi", cell);
    const copy = (label || cell).cloneNode(true);
    for (const extra of all(".axis, .flag, .note, title", copy)) extra.remove();
    return copy.textContent;
  }

  function csvOf(source) {
    const rows = [...source.rows].filter((row) => row.cells.length > 1 && !row.matches(".more, [hidden] *"));
    const hasEnds = [...source.rows[0].cells].map((_, i) => rows.some((row) => row.cells[i]?.dataset.l));
    const isGrouped = find("th[scope=rowgroup]", source);
    const groupOf = (row) => find("th[scope=rowgroup]", row.parentElement)?.textContent ?? "group";
    return rows.map((row, place) => [...(isGrouped ? [groupOf(row)] : []), ...[...row.cells].flatMap((cell, i) => {
      if (cell.classList.contains("drawn")) return [];
      const name = textOf(cell);
      if (place === 0) return hasEnds[i] ? [name, `${name} low`, `${name} high`] : [name];
      const { v, l = "", h = "" } = cell.dataset;
      const value = v ?? (cell.classList.contains("number") && cell.tagName === "TD" ? cell.textContent : name);
      return hasEnds[i] ? [value, l, h] : [value];
    })].map(quoted).join(",")).join("\n");
  }

  for (const source of all("table")) {
    const { name } = source.dataset;
    source.caption.firstChild.append(button("CSV", () => download(`${name}.csv`, "text/csv", `${csvOf(source)}\n`)));
  }
  const json = find("#data").textContent;
  find("#downloads").append(button("Download all numbers as JSON", () => download("report.json", "application/json", json)));

  for (const box of all("[data-copy]")) {
    const copy = button("Copy", async () => {
      const text = find("pre", box);
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Selected"; // without the right to write, the text is selected
      }
    });
    box.append(copy);
  }

  // ---- a table that is cut says so; on a phone its rows are stacked: label, numbers in as many columns as fit, drawing ----

  const phone = matchMedia("(max-width: 40rem)");

  function titleOf(head) { // with the ends of the axis, where its drawings have a column
    const axis = head.classList.contains("drawn") && find(".axis", head);
    const ends = axis ? `${axis.firstChild.textContent} to ${axis.lastChild.textContent}` : "";
    return [textOf(head), ends].filter(Boolean).join(", ");
  }

  function stack(table, isCut) {
    const heads = all("tr:last-child > *", table.tHead);
    table.classList.add("stacked");
    let n = heads.filter((head, i) => i && head.offsetWidth && !head.classList.contains("drawn")).length;
    table.style.setProperty("--columns", n);
    if (!isCut()) return;
    table.classList.add("labelled"); // the numbers of a row need several lines, so each has its heading
    for (const row of all("tbody tr", table)) {
      if (row.cells.length === heads.length) [...row.cells].forEach((cell, i) => { cell.dataset.head = titleOf(heads[i]); });
    }
    while (n > 1 && isCut()) table.style.setProperty("--columns", n -= 1);
  }

  function fit(box) {
    const table = find("table", box);
    const isCut = () => box.scrollWidth > box.clientWidth + 4;
    table.classList.remove("stacked", "labelled");
    box.classList.remove("cut");
    if (phone.matches && isCut() && table.tHead && !find("[scope=colgroup]", table)) stack(table, isCut);
    box.classList.toggle("cut", isCut());
  }

  const resized = new ResizeObserver((found) => found.forEach(({ target }) => fit(target)));
  for (const box of all(".scroll")) resized.observe(box);

  // ---- links to folded content open it ----

  function show(id) {
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target.scrollIntoView();
  }

  if (query) show(anchor);
  addEventListener("hashchange", () => show(location.hash.slice(1).split("?")[0]));
  addEventListener("beforeprint", () => { for (const fold of all("#protocol, #notes")) fold.open = true; });
  root.dataset.script = "done";
})();
