"use strict";
// Draws the page from the JSON value of page_content.py. Labels may contain any text, so they reach the page only as text
// nodes, and the charts only through `chartText`.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const navigation = document.createElement("ul");
  document.getElementById("sections").append(navigation);

  // The style sheet defines the colours (after Okabe & Ito) for both themes. The lengths of these lists have no common
  // divisor, so that many models get different pairs of colour and symbol, dash or pattern.
  const N_COLOURS = 7;
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
  const PATTERNS = ["", "/", "x", "-", "\\", "+", "|", "."]; // patterns of bars; each time the colours repeat, the next pattern is used
  const displayOf = (name) => data.displays[name] || { decimals: 4, is_log: false };
  const MOST_ROWS = 500;
  const several = data.models.length > 1;
  const percent = Math.round(data.confidence * 100);

  // ---- elements ----

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(key, value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const labelled = (text) => element("bdi", { class: "label" }, text);

  function swatch(model) {
    const round = Math.floor(model / N_COLOURS) % 2;
    const node = element("span", { class: round ? "swatch square" : "swatch", "aria-hidden": "true" });
    node.style.background = `var(--model-${model % N_COLOURS})`;
    return node;
  }

  // Replaces the middle of a long text by "…": paths often differ only at their end.
  function shortened(text, most = 60) {
    const points = [...text];
    if (points.length <= most) return text;
    const nEnd = Math.ceil((most - 1) / 2);
    return `${points.slice(0, most - 1 - nEnd).join("")}…${points.slice(-nEnd).join("")}`;
  }

  function modelName(text, most = 40) {
    const short = shortened(text, most);
    return element("bdi", { class: "label", title: short === text ? null : text }, short);
  }

  function section(id, title, ...children) {
    main.append(element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title` }, title), ...children));
    navigation.append(element("li", {}, element("a", { href: `#${id}` }, title)));
  }

  function choice(text, options, onChange) {
    const list = element("select", { change: () => onChange(list.selectedIndex) });
    options.forEach((option) => list.append(element("option", {}, option)));
    return element("label", {}, text, list);
  }

  function scrolling(caption, head, bodies, tall = false, attributes = {}) {
    const table = element("table", attributes, element("caption", {}, element("span", {}, caption)), head, ...bodies);
    const kind = tall ? "scroll tall" : "scroll";
    return element("div", { class: kind, role: "region", tabindex: "0", "aria-label": caption }, table);
  }

  const headCell = (content, isNumber) => element("th", { scope: "col", class: isNumber ? "number" : null }, content);
  const headRow = (contents, isNumber) => element("thead", {}, element("tr", {}, ...contents.map((content, i) => headCell(content, isNumber(i)))));
  const countCell = (n) => element("td", { class: "number" }, n === null ? "-" : whole(n));

  // ---- numbers ----

  const MOST_DIGITS = 10;
  const styles = Array.from({ length: MOST_DIGITS + 1 }, (_, digits) =>
    new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  const whole = (n) => styles[0].format(n);

  function digitsOf(value, heading) {
    return Math.abs(value) >= 100 ? 1 : displayOf(heading).decimals;
  }

  function written(value, heading, digits = null) {
    if (value === null) return "-";
    const text = styles[digits === null ? digitsOf(value, heading) : digits].format(value);
    return /[1-9]/.test(text) ? text : text.replace("-", ""); // no -0.00
  }

  // Differences may be far smaller than the values, so they are shown with two significant digits. Where the interval
  // excludes zero, its end next to zero gets at least one significant digit.
  function digitsOfDifference([value, low, high], heading) {
    const usual = value === null ? 0 : digitsOf(value, heading);
    if (value === null || Math.abs(value) < 10 ** -MOST_DIGITS) return usual;
    const counting = (number, n) => Math.min(MOST_DIGITS, n - 1 - Math.floor(Math.log10(Math.abs(number))));
    if (low == null || high == null) return Math.max(usual, counting(value, 2));
    const isSure = low * high > 0;
    const wanted = counting(isSure ? value : Math.max(Math.abs(value), (high - low) / 2), 2);
    return Math.max(usual, wanted, isSure ? counting(low > 0 ? low : high, 1) : 0);
  }

  function interval([value, low, high], heading, digits = null) {
    if (value === null || low == null || high == null) return ""; // this also covers cells that hold only a value
    const nDigits = digits === null ? digitsOf(value, heading) : digits;
    return `[${written(low, heading, nDigits)}, ${written(high, heading, nDigits)}]`;
  }

  function numberCell(cell, heading, isBest = false, digits = null) {
    const [value, , , reason, least, greatest] = cell;
    const text = value === null && least != null ? `${written(least, heading)} to ${written(greatest, heading)}` : written(value, heading, digits);
    const node = element("td", { class: isBest ? "number best" : "number", title: reason || null }, text);
    const bounds = interval(cell, heading, digits);
    if (bounds) node.append(element("span", { class: "interval" }, bounds));
    return node;
  }

  const differenceCell = (cell, heading, isSure = false) => numberCell(cell, heading, isSure, digitsOfDifference(cell, heading));

  function score(value) {
    return typeof value === "number" ? String(Number(value.toPrecision(5))) : value;
  }

  function reasonList(pairs) {
    const lines = [...new Set(pairs.filter(([, reason]) => reason).map(([what, reason]) => `${what}: ${reason}`))];
    return lines.length ? element("ul", { class: "reasons" }, ...lines.map((line) => element("li", {}, line))) : null;
  }

  // ---- what was measured ----

  function lineList(lines) {
    const items = lines.map((line) => {
      const prefix = /^(note|dropped|dataset|unknown|overridden|override): /.exec(line);
      if (!prefix) return element("li", {}, line);
      return element("li", { class: "caution" }, element("strong", {}, prefix[1]), ` ${line.slice(prefix[0].length)}`);
    });
    return element("ul", { class: "lines" }, ...items);
  }

  const WORDS = "Each ranked triple is a positive. For each side, one entity of the triple, the answer, is hidden; the rest is the query, "
    + "(s, p, ?) or (?, p, o). Candidates are the entities that may answer the query; rivals are the candidates other than "
    + "the positive. The rank is the position of the positive among the candidates sorted by score; 1 is best. Filtered ranks "
    + "leave out rivals that are known answers, raw ranks do not.";

  function showMeasured() {
    const parts = [];
    if (data.differences.length) {
      parts.push(lineList([
        `note: these results were evaluated differently, so their numbers are not comparable${data.comparison
          ? "; the comparison below accepts the differences listed as overridden and uses the ranks that all results have" : ""}:`,
        ...data.differences.map((line) => `note: ${line}`),
      ]));
    }
    parts.push(element("p", { class: "muted", id: "words" }, WORDS));
    if (data.head.common.length) parts.push(lineList(data.head.common));
    const items = data.models.map((name, model) => {
      const lines = data.head.own[model];
      const scorer = data.head.scorers[model];
      return element("li", {}, swatch(model), element("strong", {}, modelName(name, 100)),
        ...(scorer && scorer !== name ? [element("span", { class: "muted" }, ", scorer ", element("bdi", {}, scorer))] : []),
        lines.length ? lineList(lines) : null);
    });
    parts.push(element("h3", {}, several ? "Models" : "Model"), element("ul", { class: "lines" }, ...items));
    const overridden = data.comparison ? data.comparison.head.filter((line) => line.startsWith("overridden: ")) : [];
    if (overridden.length) parts.push(element("h3", {}, "Accepted differences"), lineList(overridden));
    section("measured", "What was measured", ...parts);
  }

  // ---- the metric table ----

  function bestOf(rows, place) {
    const values = rows.map((row) => row.cells[place][0]).filter((value) => value !== null);
    if (!several || data.differences.length || values.length < 2) return null;
    return data.metrics[place].higher_is_better ? Math.max(...values) : Math.min(...values);
  }

  function showSummary() {
    const headings = data.metrics.map((metric) => metric.heading);
    const head = headRow(["model", "n", ...headings], (i) => i > 0);
    const reasons = [];
    let hasBounds = false;
    const bodies = data.summary.map((group) => {
      const sides = group.side === "both" ? "both sides" : `${group.side} side`;
      const title = element("th", { scope: "rowgroup", colspan: headings.length + 2 }, `${group.setting}, ${sides}`);
      const best = headings.map((_, place) => bestOf(group.rows, place));
      const rows = [...group.rows, ...group.chance].map((row) => {
        const isChance = row.model === undefined;
        const headingsOf = new Map(); // reason -> headings of the metrics with this reason
        row.cells.forEach((cell, place) => {
          if (cell.length > 4) hasBounds = true;
          else headingsOf.set(cell[3], [...(headingsOf.get(cell[3]) || []), headings[place]]);
        });
        headingsOf.forEach((names, reason) => reasons.push([`${group.setting} ${group.side} ${names.join(", ")}, ${row.name}`, reason]));
        return element("tr", { class: isChance ? "chance" : null },
          element("th", { scope: "row" }, isChance ? null : swatch(row.model), modelName(row.name)),
          countCell(row.n),
          ...row.cells.map((cell, place) => numberCell(cell, headings[place], !isChance && cell[0] !== null && cell[0] === best[place])));
      });
      return element("tbody", {}, element("tr", {}, title), ...rows);
    });
    const caption = `Metrics with ${percent}% intervals in brackets; realistic ties`
      + (several && !data.differences.length ? "; the best value in bold, which does not mean that its difference is significant" : "")
      + (hasBounds ? "; \u201ca to b\u201d: the value lies between a and b, because ranks are undecided" : "");
    const terms = [...data.metrics.map((metric) => [metric.heading, `${metric.about} ${metric.higher_is_better ? "Higher" : "Lower"} is better.`]),
      ["realistic ties", "A positive that ties with rivals gets the mean of the ranks that they share. (The mean of a metric over ties broken at random is another policy, expected.)"],
      ["chance", "The expected value for a model that orders the same candidates at random."],
      ["intervals", `${data.purposes.join(". ")}.`]];
    const meanings = element("dl", {}, ...terms.flatMap(([term, meaning]) => [element("dt", {}, term), element("dd", {}, meaning)]));
    section("metrics", "Metrics", ...data.purposes.map((text) => element("p", {}, `${text}.`)), scrolling(caption, head, bodies), reasonList(reasons),
      element("details", {}, element("summary", {}, "What the metrics mean"), meanings));
  }

  // ---- the comparison ----

  const probability = (p) => (p === null ? "-" : p < 0.0001 ? "< 0.0001" : written(p, ""));

  function showComparison() {
    if (!data.comparison) return;
    const names = ["metric", "first", "second", "difference", "favours", "p", "p (Holm)", "smallest detectable", "wins", "ties",
      "losses", "n", "clusters"];
    const head = headRow(names, (i) => i > 0 && names[i] !== "favours");
    const reasons = [];
    const bodies = new Map();
    for (const row of data.comparison.rows) {
      const pair = JSON.stringify([row.first, row.second]);
      if (!bodies.has(pair)) {
        bodies.set(pair, element("tbody", {}, element("tr", {}, element("th", { scope: "rowgroup", colspan: names.length },
          modelName(row.first), " against ", modelName(row.second)))));
      }
      bodies.get(pair).append(comparisonRow(row));
      reasons.push([`${row.metric}, ${row.first} against ${row.second}`, row.reason]);
    }
    const shownLines = data.models.flatMap((name, model) => [...data.head.common, ...data.head.own[model]].map((text) => text.replace("note: ", () => `note: ${name}: `)));
    section("comparison", "Comparison",
      lineList(data.comparison.head.filter((text) => !shownLines.includes(text))), // the first section shows the other lines
      element("p", {}, `The difference is first - second, with its ${Math.round(data.comparison.confidence * 100)}% interval; in bold where the p-value after Holm's correction is at most ${data.comparison.alpha}. Otherwise it is undecided which model is better.`),
      scrolling("Paired comparison of the models; smallest detectable: the minimum detectable difference, which the test would detect with a probability of 0.8", head, [...bodies.values()]),
      reasonList(reasons), ...data.comparison.contributions.filter((pair) => pair.rows.length).map(contributionTable));
  }

  function comparisonRow(row) {
    const isSure = row.p_holm !== null && row.p_holm <= data.comparison.alpha;
    const counts = ["wins", "ties", "losses", "n", "n_clusters"].map((name) =>
      element("td", { class: "number" }, typeof row[name] === "number" ? whole(row[name]) : "-"));
    if (row.n_effective !== null && row.n_effective < 100) counts[4].append(` (${Math.round(row.n_effective)} effective)`);
    return element("tr", {}, element("th", { scope: "row" }, row.metric),
      numberCell([row.value_first], row.metric), numberCell([row.value_second], row.metric),
      differenceCell([row.difference, row.low, row.high, row.reason], row.metric, isSure),
      element("td", {}, modelName(row.better)),
      element("td", { class: "number" }, probability(row.p)),
      element("td", { class: isSure ? "number best" : "number" }, probability(row.p_holm)),
      differenceCell([row.detectable], row.metric), ...counts);
  }

  function contributionTable(pair, place) {
    const title = `Where the difference in ${pair.metric} comes from: ${pair.first} - ${pair.second}`;
    const head = headRow(["relation", "n", "share", modelName(pair.first), modelName(pair.second), "difference", "contribution"], (i) => i > 0);
    const rows = pair.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, labelled(row.relation)), countCell(row.n),
      element("td", { class: "number" }, `${styles[1].format(100 * row.share)}%`),
      numberCell([row.value_first], pair.metric), numberCell([row.value_second], pair.metric),
      differenceCell([row.difference, row.low, row.high], pair.metric), differenceCell([row.contribution], pair.metric)));
    return element("details", { open: place === 0 ? "" : null }, element("summary", {}, title),
      scrolling(`${title}. The relations that contribute most; over all relations the contributions add up to the difference`, head, [element("tbody", {}, ...rows)]));
  }

  // ---- charts ----

  const charts = [];
  const isShown = data.models.map(() => true);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const modelColour = (model) => colour(`--model-${model % N_COLOURS}`);
  const barMarker = (model) => ({ color: modelColour(model), pattern: { shape: PATTERNS[Math.floor(model / N_COLOURS) % PATTERNS.length], fgcolor: colour("--back"), fillmode: "overlay" } });

  // plotly.js reads a subset of HTML in every text, so its special characters are written as entities. Labels in
  // right-to-left scripts are isolated, so that they do not reverse the text around them.
  function chartText(text) {
    const safe = shortened(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(safe) ? `\u2068${safe}\u2069` : safe;
  }

  function axis(title, more = {}) {
    return { title: { text: title, standoff: 8 }, gridcolor: colour("--grid"), linecolor: colour("--line"),
      zerolinecolor: colour("--line"), automargin: true, ...more };
  }

  function layout(xaxis, yaxis, more = {}) {
    const isTouched = matchMedia("(pointer: coarse)").matches; // on a touch screen a drag scrolls the page
    return { xaxis, yaxis, showlegend: several, dragmode: isTouched ? false : "zoom", hovermode: "closest",
      paper_bgcolor: colour("--back"), plot_bgcolor: colour("--back"), margin: { l: 56, r: 12, t: several ? 56 : 28, b: 48 },
      legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", itemclick: false, itemdoubleclick: false }, uirevision: "same",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("--text") },
      hoverlabel: { bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--text") }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--edge"), activecolor: colour("--text") },
      ...more };
  }

  function chart(caption, name, figure, kind = "plot") {
    const plot = element("div", { class: kind, role: "group", "aria-label": caption });
    // The list of buttons leaves out those that send the chart to a server. SVG, because a PNG would load an image.
    const config = { responsive: true, displaylogo: false, typesetMath: false, showSendToCloud: false, plotlyServerURL: "",
      modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: `kgeval-${name}` } };
    charts.push({ plot, draw: () => {
      const { traces, shape } = figure();
      return window.Plotly.react(plot, traces, shape, config);
    } });
    return element("figure", {}, plot, element("figcaption", {}, caption));
  }

  function drawAgain(test = () => true) {
    if (!window.Plotly) return;
    charts.filter((item) => test(item.plot) && item.plot.isConnected).forEach((item) => item.draw());
  }

  const modelTrace = (model, more) => ({ name: chartText(data.models[model]), visible: isShown[model], hoverinfo: "text", ...more });
  const line = (model) => ({ color: modelColour(model), dash: DASHES[model % DASHES.length], width: 2 });
  const marker = (model, more = {}) => ({ color: modelColour(model), symbol: SYMBOLS[model % SYMBOLS.length], size: 8, ...more });
  const models = data.models.map((_, model) => model);

  function countsOf(model) {
    const sides = Object.values(data.distribution.counts[model]);
    return data.distribution.bins.map((_, bin) => sides.reduce((sum, counts) => sum + counts[bin], 0));
  }

  const leftOut = (model) => Object.values(data.distribution.left_out[model]).reduce((sum, n) => sum + n, 0);

  function bars(name, counts, nLeftOut, more) {
    const total = counts.reduce((sum, n) => sum + n, nLeftOut) || 1;
    const shares = counts.map((n) => (100 * n) / total);
    const hovertext = counts.map((n, bin) => `${chartText(name)}<br>rank ${data.distribution.bins[bin]}: ${styles[1].format(shares[bin])}% (${whole(n)})`);
    return { type: "bar", x: data.distribution.bins, y: shares, hovertext, hoverinfo: "text", textposition: "none", ...more };
  }

  const rankAxes = () => layout(axis("rank (bins widen to the right)", { type: "category", tickangle: -45 }),
    axis("share of ranks in %", { rangemode: "tozero" }), { barmode: "group", bargap: 0.15 });

  function distributionFigure() {
    const traces = models.map((model) => bars(data.models[model], countsOf(model), leftOut(model), {
      name: chartText(data.models[model]), visible: isShown[model], marker: barMarker(model) }));
    return { traces, shape: rankAxes() };
  }

  function hitsText(model, i) {
    const value = data.hits.values[model][i];
    const bounds = data.hits.bounds[model];
    if (value !== null || !bounds) return written(value, "");
    return bounds.map((ends) => written(ends[i], "")).join(" to ");
  }

  function hitsFigure() {
    const traces = models.flatMap((model) => {
      const common = { type: "scatter", mode: "lines", x: data.hits.k,
        hovertext: data.hits.k.map((k, i) => `${chartText(data.models[model])}<br>hits@${k}: ${hitsText(model, i)}`) };
      const trace = modelTrace(model, { ...common, line: line(model), y: data.hits.values[model] });
      const bounds = data.hits.bounds[model];
      if (!bounds) return [trace];
      const ends = bounds.map((y, i) => modelTrace(model, { ...common, line: { ...line(model), width: 0.7 }, y, showlegend: false, ...(i ? { fill: "tonexty" } : {}) }));
      return [...ends, trace]; // the band between the bounds, then the values that do not depend on undecided ranks
    });
    return { traces, shape: layout(axis("k (log scale)", { type: "log", nticks: 8 }), axis("hits@k (share of ranks up to k)", { range: [0, 1.02] })) };
  }

  const relationValue = (model, place, row, part = 0) => data.relations.values[model][place][part][row];
  const relationCell = (model, place, row) => data.relations.values[model][place].map((part) => part[row]);
  const relationChart = { metric: 0, across: several ? 1 : 0 };

  function relationFigure() {
    const { labels, metrics, n } = data.relations;
    const { metric, across } = relationChart;
    const heading = metrics[metric].heading;
    const base = across - 1;
    const most = Math.max(1, ...n.flat());
    const rows = labels.map((_, row) => row);
    const traces = models.filter((model) => model !== base).map((model) => modelTrace(model, {
      type: "scatter", mode: "markers",
      marker: marker(model, { opacity: 0.75, line: { color: colour("--back"), width: 1 }, size: rows.map((row) => 6 + 18 * Math.sqrt(n[model][row] / most)) }),
      x: rows.map((row) => (across ? relationValue(base, metric, row) : n[model][row])),
      y: rows.map((row) => relationValue(model, metric, row)),
      hovertext: rows.map((row) => [chartText(labels[row]), `n = ${whole(n[model][row])}`,
        ...(across ? [base, model] : [model]).map((m) => {
          const cell = relationCell(m, metric, row);
          return `${chartText(data.models[m])}: ${written(cell[0], heading)} ${interval(cell, heading)}`;
        })].join("<br>")),
    }));
    const type = displayOf(heading).is_log ? "log" : "linear";
    const ends = type === "log" ? [1, Math.max(1, ...data.relations.values.flatMap((m) => m[metric][0]).filter((v) => v !== null))] : [0, 1];
    const diagonal = { type: "line", x0: ends[0], y0: ends[0], x1: ends[1], y1: ends[1], line: { color: colour("--muted"), width: 1, dash: "dot" }, layer: "below" };
    const name = across ? `${heading}, ${chartText(data.models[base])}` : "ranks of the relation (log scale)";
    const second = several && across && data.models.length === 2 ? `, ${chartText(data.models[1 - base])}` : "";
    return { traces, shape: layout(axis(name, { type: across ? type : "log", nticks: 8 }), axis(`${heading}${second}`, { type, nticks: 6 }),
      { shapes: across ? [diagonal] : [], uirevision: `${metric}, ${across}` }) };
  }

  // One note if it is the same for all models, else one note per model.
  function splitNotes(notes) {
    const isSame = notes.every((note) => note === notes[0]);
    const lines = isSame ? notes.slice(0, 1) : notes.map((note, model) => note && `${data.models[model]}: ${note}`);
    return lines.filter(Boolean).map((note) => element("p", { class: "muted over-splits" }, note));
  }

  const groupChart = { metric: 0, column: 0 };

  function groupFigure() {
    const column = data.breakdowns.columns[groupChart.column];
    const heading = data.breakdowns.metrics[groupChart.metric].heading;
    const { groups } = column;
    const traces = models.filter((model) => column.models[model]).map((model) => {
      const table = column.models[model];
      const [value, low, high] = table.values[groupChart.metric];
      const reach = (ends, sign) => value.map((v, i) => (v === null || ends[i] === null ? 0 : sign * (ends[i] - v)));
      return modelTrace(model, { type: "scatter", mode: "markers", marker: marker(model, { size: 10 }),
        x: table.places.map((place) => place + (model - (models.length - 1) / 2) * 0.12), y: value,
        error_y: { type: "data", symmetric: false, array: reach(high, 1), arrayminus: reach(low, -1), color: modelColour(model), thickness: 1.5, width: 4 },
        hovertext: table.groups.map((group, i) => [chartText(data.models[model]), `${chartText(group)}, n = ${whole(table.n[i])}`,
          `${heading} ${written(value[i], heading)} ${interval([value[i], low[i], high[i]], heading)}`].join("<br>")) });
    });
    const ticks = { tickmode: "array", tickvals: groups.map((_, i) => i), ticktext: groups.map(chartText), range: [-0.6, groups.length - 0.4], zeroline: false };
    const type = displayOf(heading).is_log ? "log" : "linear";
    return { traces, shape: layout(axis(chartText(column.name), ticks), axis(heading, { type, nticks: 6, rangemode: type === "log" ? "normal" : "tozero" }),
      { uirevision: `${groupChart.column}, ${groupChart.metric}` }) };
  }

  function numbersOf(title, first, entries, values) {
    const head = headRow([first, ...data.models.map((name) => modelName(name))], () => true);
    const rows = entries.map((entry, i) => element("tr", {}, element("th", { scope: "row", class: "number" }, entry),
      ...models.map((model) => element("td", { class: "number" }, values(model, i)))));
    return element("details", {}, element("summary", {}, title), scrolling(title, head, [element("tbody", {}, ...rows)], true));
  }

  function showCharts() {
    const toggles = models.map((model) => {
      const box = element("input", { type: "checkbox", change: () => { isShown[model] = box.checked; drawAgain(); } });
      box.checked = true;
      return element("label", {}, box, swatch(model), modelName(data.models[model]));
    });
    const parts = [];
    if (several) parts.push(element("div", { class: "controls" }, element("fieldset", { id: "toggles" }, element("legend", {}, "Models shown"), ...toggles)));
    const both = "filtered, all sides, realistic ties";
    const bounded = models.filter((model) => leftOut(model));
    if (bounded.length) {
      const numbers = bounded.map((model) => `${whole(leftOut(model))} of ${data.models[model]}`).join(", ");
      parts.push(lineList([`note: ranks that are undecided or unknown are in no bin (${numbers}), but count in the shares; where hits@k depends on undecided ranks, a band shows its bounds; other metrics have no mark where they depend on them`]));
    }
    const bins = [...data.distribution.bins, ...(bounded.length ? ["undecided or unknown"] : [])];
    parts.push(element("h3", {}, "Distribution of ranks"),
      chart(`Share of ranks per bin (${both}). A rank between two bins, caused by ties, counts in the lower bin.`, "ranks", distributionFigure),
      numbersOf("Counts of ranks", "rank", bins, (model, i) => whole([...countsOf(model), leftOut(model)][i])),
      element("h3", {}, "Hits at every cut-off"),
      chart(`Share of ranks of at most k (${both}).`, "hits", hitsFigure),
      numbersOf("Values of hits@k", "k", data.hits.k.map(whole), hitsText));
    const drawRelations = () => drawAgain((plot) => plot.classList.contains("of-relations"));
    const across = choice("Horizontal axis", ["number of ranks", ...data.models], (i) => { relationChart.across = i; drawRelations(); });
    across.querySelector("select").selectedIndex = relationChart.across;
    parts.push(element("h3", {}, "Metrics per relation"), element("div", { class: "controls" },
      choice("Metric", data.relations.metrics.map((metric) => metric.heading), (i) => { relationChart.metric = i; drawRelations(); }),
      several ? across : null),
    chart(`Each mark is a relation (filtered, all sides); a larger mark has more ranks.${several ? " Marks above the dotted line have a higher value than the model on the horizontal axis." : ""} The table of relations has the same numbers.`,
      "relations", relationFigure, "plot square of-relations"));
    if (data.breakdowns.columns.length) {
      const drawGroups = () => drawAgain((plot) => plot.classList.contains("of-groups"));
      parts.push(element("h3", {}, "Metrics per group"), element("div", { class: "controls" },
        choice("By", data.breakdowns.columns.map((column) => column.name), (i) => { groupChart.column = i; drawGroups(); }),
        choice("Metric", data.breakdowns.metrics.map((metric) => metric.heading), (i) => { groupChart.metric = i; drawGroups(); })),
      chart(`Metric by group with ${percent}% intervals (filtered, all sides). The tables of each model have the same numbers.`, "groups", groupFigure, "plot of-groups"),
      ...splitNotes(data.breakdowns.notes));
    }
    section("charts", "Charts", ...parts);
  }

  // ---- the table of relations ----

  function showRelations() {
    const { labels, metrics, n } = data.relations;
    const state = { metric: 0, column: 1, isUp: false, words: "", limit: MOST_ROWS };
    const sameCounts = n.every((counts) => counts.every((count, row) => count === n[0][row]));
    const countModels = sameCounts ? [0] : models;
    const columns = [
      { name: "relation", value: (row) => labels[row], isText: true, cell: (row) => element("th", { scope: "row" }, labelled(labels[row])) },
      ...countModels.map((model) => ({ name: sameCounts ? "n" : `n, ${data.models[model]}`, value: (row) => n[model][row], cell: (row) => countCell(n[model][row]) })),
      ...models.map((model) => ({ name: data.models[model], swatch: model, value: (row) => relationValue(model, state.metric, row),
        cell: (row) => numberCell(relationCell(model, state.metric, row), metrics[state.metric].heading) })),
      ...models.slice(1).map((model) => {
        const value = (row) => {
          const [a, b] = [0, model].map((m) => relationValue(m, state.metric, row));
          return a === null || b === null ? null : a - b;
        };
        return { name: `${data.models[0]} - ${data.models[model]}`, value, cell: (row) => differenceCell([value(row)], metrics[state.metric].heading) };
      }),
    ];
    const body = element("tbody");
    const status = element("p", { class: "muted", role: "status", id: "relations-shown" });
    const more = element("button", { type: "button", click: () => { state.limit = Infinity; render(); } }, "Show all");
    const heads = columns.map((column, i) => element("th", { scope: "col", class: column.isText ? null : "number" },
      element("button", { type: "button", click: () => sortBy(i) }, column.swatch === undefined ? null : swatch(column.swatch), modelName(column.name, 60))));

    function sortBy(i) {
      state.isUp = state.column === i ? !state.isUp : Boolean(columns[i].isText);
      state.column = i;
      render();
    }

    function render() {
      const { value, isText } = columns[state.column];
      const keys = labels.map((_, row) => value(row));
      const compare = isText ? new Intl.Collator("en").compare : (a, b) => a - b;
      const matching = labels.map((_, row) => row).filter((row) => labels[row].toLowerCase().includes(state.words));
      matching.sort((a, b) => {
        if (keys[a] === null || keys[b] === null) return (keys[a] === null) - (keys[b] === null);
        return (state.isUp ? 1 : -1) * compare(keys[a], keys[b]);
      });
      const shown = matching.slice(0, state.limit);
      body.replaceChildren(...shown.map((row) => element("tr", {}, ...columns.map((column) => column.cell(row)))));
      heads.forEach((head, i) => head.setAttribute("aria-sort", i !== state.column ? "none" : state.isUp ? "ascending" : "descending"));
      status.textContent = `${whole(shown.length)} of ${whole(labels.length)} relations shown, ${metrics[state.metric].heading}`;
      more.hidden = shown.length === matching.length;
    }

    const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false",
      input: () => { state.words = search.value.toLowerCase(); render(); } });
    const left = data.relations.n_all - labels.length;
    render();
    section("relations", "Relations",
      element("div", { class: "controls" },
        choice("Metric", metrics.map((metric) => metric.heading), (i) => { state.metric = i; render(); }),
        element("label", {}, "Search", search)),
      status,
      left ? element("p", { class: "muted" }, `${whole(left)} relations with fewer ranks are not in this page; result.by("relation") returns all.`) : null,
      scrolling(`Metric of each relation with ${percent}% intervals (filtered, all sides, realistic ties); the buttons in the header row sort the table`,
        element("thead", {}, element("tr", {}, ...heads)), [body], true), more);
  }

  // ---- one model in detail ----

  function sidesFigure(model) {
    const traces = Object.entries(data.distribution.counts[model]).map(([side, counts], i) =>
      bars(`${side} side`, counts, data.distribution.left_out[model][side], { name: `${side} side`, marker: { color: modelColour(i + 4), pattern: { shape: i ? "/" : "" } } }));
    return { traces, shape: { ...rankAxes(), showlegend: true, margin: { l: 56, r: 12, t: 56, b: 48 } } };
  }

  const isOpen = new Map(); // column name -> whether its table is open; kept when another model is chosen

  function breakdownTables(model) {
    const headings = data.breakdowns.metrics.map((metric) => metric.heading);
    return data.breakdowns.columns.filter((column) => column.models[model]).map((column, place) => {
      const table = column.models[model];
      const head = headRow([column.name, "n", "share", ...headings], (i) => i > 0);
      const rows = table.groups.map((group, i) => element("tr", {}, element("th", { scope: "row" }, labelled(group)), countCell(table.n[i]),
        element("td", { class: "number" }, table.share[i] === null ? "-" : `${styles[1].format(100 * table.share[i])}%`),
        ...headings.map((heading, metric) => numberCell(table.values[metric].map((part) => part[i]), heading))));
      const left = table.n_all - table.groups.length;
      if (!isOpen.has(column.name)) isOpen.set(column.name, place === 0);
      const details = element("details", { open: isOpen.get(column.name) ? "" : null }, element("summary", {}, "By ", element("bdi", {}, column.name)),
        scrolling(`Metrics by ${column.name} with ${percent}% intervals (filtered, all sides)`, head, [element("tbody", {}, ...rows)]),
        left ? element("p", { class: "muted left-out" }, `${whole(left)} smaller groups, ${styles[1].format(100 * table.share_left)}% of the ranks, are left out.`) : null);
      details.addEventListener("toggle", () => { if (details.isConnected) isOpen.set(column.name, details.open); });
      return details;
    });
  }

  function rivalsCell(row) {
    if (!row.rivals.length) return element("td", { class: "muted" }, "-");
    const items = row.rivals.map((rival) => element("li", { class: rival.stands === "above" ? null : "muted" },
      labelled(rival.label), ` ${score(rival.score)}${rival.stands === "above" ? "" : ` (${rival.stands})`}`));
    return element("td", {}, element("ol", {}, ...items));
  }

  function tripleTable(caption, rows) {
    const names = ["rank", "of", "query", "answer", "side", "score", "best rivals"];
    const head = headRow(names, (i) => i < 2 || names[i] === "score");
    const lines = rows.map((row) => {
      const isObject = row.side === "object";
      const gap = element("span", { class: "asked" }, "?");
      const relation = element("span", { class: "muted" }, labelled(row.p));
      const query = isObject ? [labelled(row.s), relation, gap] : [gap, relation, labelled(row.o)];
      const cells = [
        element("td", { class: "number", title: row.tied ? `${row.tied} rivals tie` : null }, written(row.rank, "", Number.isInteger(row.rank) ? 0 : 1)),
        countCell(row.of), element("td", {}, element("span", { class: "query" }, ...query)),
        element("td", {}, labelled(isObject ? row.o : row.s)), element("td", {}, row.side),
        element("td", { class: "number" }, score(row.score)), rivalsCell(row)];
      cells.forEach((cell, i) => { cell.setAttribute("role", "cell"); cell.dataset.name = names[i]; });
      return element("tr", { role: "row" }, ...cells);
    });
    // On a phone each row is shown as a card whose cells show their names; the roles keep it a table for screen readers.
    return scrolling(caption, head, [element("tbody", { role: "rowgroup" }, ...lines)], false, { class: "cards", role: "table" });
  }

  const RIVALS = {
    kept: "The best rivals score above the answer, unless they are marked as tied or below. Known answers are left out.",
    "not kept": "This result does not contain the rivals. With the dataset and the model, kgeval explain lists the candidates above a triple.",
    none: "No answer has a rival: all other candidates are known answers.",
  };

  function showDetail() {
    const place = element("div", { id: "detail" });

    function render(model) {
      charts.splice(0, charts.length, ...charts.filter((one) => !one.plot.classList.contains("of-sides")));
      const name = data.models[model];
      const { hardest, easiest, rivals, left_out: left } = data.triples[model];
      const groups = breakdownTables(model);
      place.replaceChildren(
        element("h3", {}, "Distribution of ranks, by side"),
        chart(`Ranks of ${name}, each side separately (filtered, realistic ties).`, "sides", () => sidesFigure(model), "plot of-sides"),
        ...(groups.length ? [element("h3", {}, "Breakdowns"), ...groups, ...splitNotes([data.breakdowns.notes[model]])] : []),
        element("h3", {}, "Hardest triples"),
        element("p", { class: "muted", id: "rivals" }, RIVALS[rivals]),
        left ? lineList([`note: ${whole(left)} ranks are undecided or unknown; their triples are in neither table, but may be the hardest`]) : "",
        tripleTable(`The worst filtered ranks of ${name}`, hardest),
        element("h3", {}, "Easiest triples"),
        tripleTable(`The best filtered ranks of ${name}; of equal ranks, those with the most candidates`, easiest));
      drawAgain((plot) => plot.classList.contains("of-sides"));
    }

    const switcher = several ? [element("div", { class: "controls" }, choice("Model", data.models, render))] : [];
    section("detail-section", several ? "One model in detail" : "In detail", ...switcher, place);
    if (several) switcher[0].querySelector("select").id = "model";
    render(0);
  }

  // ---- the dataset ----

  function showAudit() {
    const { audit } = data;
    if (!audit) return;
    const names = ["split", "triples", "entities", "relations", "duplicate rows", "rows also in another split", "pairs reversed in train", "of these in the same relation", "pairs in train with another relation", "triples with unseen labels", "unseen entities", "unseen relations"];
    const head = headRow(names, (i) => i > 0);
    const rows = audit.splits.map((split) => element("tr", {}, element("th", { scope: "row" }, split.split),
      ...[split.triples, split.entities, split.relations, split.duplicates].map(countCell),
      element("td", { class: "number" }, split.overlaps.map(([name, n]) => `${whole(n)} in ${name}`).join(", ") || "-"),
      ...["reversed", "symmetric", "duplicate"].map((name) => (split.pairs ? countCell(split.pairs[name]) : element("td", { class: "number" }, "-"))),
      ...["triples", "entities", "relations"].map((name) => (split.unseen ? countCell(split.unseen[name]) : element("td", { class: "number" }, "-")))));
    section("dataset", "Dataset",
      element("p", {}, element("bdi", {}, audit.name), `: ${whole(audit.entities)} entities, ${whole(audit.relations)} relations; fingerprint `, element("code", {}, audit.fingerprint)),
      scrolling("Splits of the dataset; unseen: not in train", head, [element("tbody", {}, ...rows)]),
      audit.observations.length ? lineList(audit.observations.map((text) => `dataset: ${text}`)) : element("p", {}, "No doubtful rows."));
  }

  // ---- light and dark ----

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  function sayTheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"} colours`);
  }

  function changeTheme(theme) {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    sayTheme();
    drawAgain();
  }

  button.addEventListener("click", () => changeTheme(isDark() ? "light" : "dark"));
  prefersDark.addEventListener("change", () => changeTheme(root.dataset.theme));
  let themeBefore;
  window.addEventListener("beforeprint", () => { themeBefore = root.dataset.theme; if (isDark()) changeTheme("light"); });
  window.addEventListener("afterprint", () => changeTheme(themeBefore));

  // ---- the page ----

  sayTheme();
  button.hidden = false;
  showMeasured();
  showSummary();
  showComparison();
  showCharts();
  showRelations();
  showDetail();
  showAudit();

  // plotly.js is large, so it runs after the page is readable. The policy allows only code with its hash, so the new
  // script element must contain exactly this code.
  window.addEventListener("load", () => setTimeout(async () => {
    const code = document.createElement("script");
    code.text = document.getElementById("plotly").textContent;
    document.head.append(code);
    for (const one of [...charts]) {
      if (one.plot.isConnected) await one.draw();
      await new Promise((resolve) => { setTimeout(resolve, 0); }); // lets the page respond between two charts
    }
    root.dataset.charts = "drawn";
    performance.mark("charts-drawn");
  }, 0));
})();
