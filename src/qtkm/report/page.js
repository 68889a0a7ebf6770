"use strict";
// All text from data becomes text nodes; nothing here builds markup from strings.
const D = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main"), tip = document.getElementById("tip");
const NS = "http://www.w3.org/2000/svg";
const DRAWN = [];

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(2)) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const sv = (tag, attributes, ...children) => fill(document.createElementNS(NS, tag), attributes, children);

function num(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e10 || size < 1e-4) return String(Number(x.toPrecision(digits - 1)).toExponential()).replace("e+", "e");
  const text = Number(x.toPrecision(digits));
  return text.toLocaleString("en-US", { maximumFractionDigits: 10, useGrouping: size >= 1e4 });
}
// seconds since 1970, as far as a step of some seconds needs them
const DAY = 86400;
function moment(t, step = 1) {
  const date = new Date(t * 1000);
  if (isNaN(date)) return num(t);
  const text = date.toISOString();
  if (step >= 364 * DAY) return text.slice(0, 4);
  if (step >= 28 * DAY) return text.slice(0, 7);
  return step >= DAY || t % DAY === 0 ? text.slice(0, 10) : text.slice(0, step < 60 ? 19 : 16).replace("T", " ");
}
const signed = (x) => (x > 0 ? "+" : "") + num(x, 3);
const share = (x) => (x === null ? "–" : x === 0 ? "0" : x < 5e-5 ? "< 0.01 %" : (100 * x).toFixed(x < 0.001 ? 2 : 1) + " %");

function section(id, title, text) {
  const head = el("h2", { id: id, tabindex: "-1" }, title);
  const part = el("section", { "aria-labelledby": id }, head, text ? el("p", {}, text) : null);
  main.append(part);
  document.getElementById("contents").append(el("a", { href: "#" + id }, title));
  return part;
}

// -- tables ----------------------------------------------------------------------------------
// columns: [name, key, format, isNumber]
function table(caption, columns, rows, pick) {
  const body = el("tbody");
  let sorted = null, down = false;
  function show() {
    body.replaceChildren(...rows.map((row) => el("tr", { class: pick && row === rows.chosen ? "chosen" : null },
      pick ? el("td", {}, el("button", { type: "button", "aria-label": "Explain row " + row.n,
        onclick: () => { rows.chosen = row; show(); pick(row); } }, "explain")) : null,
      columns.map(([name, key, format, isNumber], i) =>
        el("td", { class: isNumber ? "number" : i === 0 ? "name" : null }, (format || String)(row[key]))))));
  }
  const heads = columns.map(([name, key, format, isNumber]) => el("th", { scope: "col", class: isNumber ? "number" : null },
    el("button", { type: "button", onclick: (event) => {
      down = sorted === key ? !down : !!isNumber;
      sorted = key;
      rows.sort((a, b) => {
        const x = a[key], y = b[key];
        if (x === null || x === undefined) return 1;
        if (y === null || y === undefined) return -1;
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      event.target.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
      show();
    } }, name)));
  show();
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", {},
    el("caption", {}, caption), el("thead", {}, el("tr", {}, pick ? el("td") : null, heads)), body));
}

function numbers(heads, rows) {
  const body = el("tbody");
  return el("details", { ontoggle: () => {
    if (!body.childElementCount) body.append(...rows().map((row) => el("tr", {}, row.map((cell) => el("td", {}, typeof cell === "number" ? num(cell) : String(cell))))));
  } }, el("summary", {}, "Numbers"), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), body)));
}

// -- drawings --------------------------------------------------------------------------------
// A drawing is made for the width it has, and again when that changes.
function figure(draw, caption, more) {
  const place = el("div");
  const self = el("figure", {}, place, caption ? el("figcaption", {}, caption) : null, more || null);
  const render = (width) => { place.replaceChildren(draw(Math.max(width, 90))); self.width = width; };
  DRAWN.push({ self, place, render });
  return self;
}
let waiting = 0;
function renderAll(force) {
  // all widths first: a layout after every drawing would take most of the time
  const widths = DRAWN.map((each) => (each.place.isConnected ? each.place.clientWidth : null));
  DRAWN.forEach((each, i) => { if (widths[i] !== null && (force || !(Math.abs(each.self.width - widths[i]) <= 8))) each.render(widths[i]); });
}
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(renderAll, 120); });
window.addEventListener("beforeprint", () => renderAll(true));

function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) || rough || 1;
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) found.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return found;
}
function moments(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), found = [];
  const step = [1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY, 14 * DAY].find((s) => s >= rough);
  if (step) {
    for (let t = Math.ceil(low / step) * step; t <= high; t += step) found.push(t);
    return [found, step];
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find((m) => m * 30 * DAY >= rough) || 1200, first = new Date(low * 1000);
  let month = Math.ceil((12 * first.getUTCFullYear() + first.getUTCMonth()) / months) * months;
  for (let t; (t = Date.UTC(Math.floor(month / 12), month % 12) / 1000) <= high; month += months) if (t >= low) found.push(t);
  return [found, months * 30.4 * DAY];
}
function span(values, zero) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (v !== null && v !== undefined) { if (v < low) low = v; if (v > high) high = v; }
  if (zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
  if (!(low < high)) { const m = isFinite(low) ? low : 0; return [m - 1, m + 1]; }
  return [low, high];
}
const grow = ([low, high], part = 0.05) => [low - part * (high - low), high + part * (high - low)];

function plot(width, height, o) {
  const m = { left: o.left || (o.timey ? 92 : 62), right: o.small ? 2 : 12, top: o.small ? 4 : 10, bottom: o.xlabel ? 44 : o.small ? 4 : 26 };
  const h = height - m.top - m.bottom;
  const fx = o.logx ? Math.log10 : (v) => v, fy = o.logy ? Math.log10 : (v) => v;
  const [x0, x1] = o.x.map(fx), [y0, y1] = o.y.map(fy);
  const logs = (low, high) => { const list = []; const by = Math.max(1, Math.ceil((high - low) / 5)); for (let p = Math.ceil(low); p <= high; p += by) list.push(10 ** p); return list; };
  const [ys, apart] = o.timey ? moments(y0, y1, h / 45) : [o.logy ? logs(y0, y1) : ticks(y0, y1, o.small ? 2 : h / 45)];
  const digits = ys.length < 2 || o.logy ? 3 : Math.min(9, Math.max(3, Math.ceil(Math.log10(Math.max(...ys.map(Math.abs)) / Math.abs(ys[1] - ys[0]))) + 1));
  const told = ys.map((t) => (o.timey ? moment(t, apart) : num(t, digits)));
  if (o.ylabel && !o.left) m.left = Math.max(m.left, 30 + 6.6 * Math.max(0, ...told.map((text) => text.length)));
  const w = width - m.left - m.right;
  const X = (v) => m.left + w * (fx(v) - x0) / (x1 - x0 || 1), Y = (v) => m.top + h * (1 - (fy(v) - y0) / (y1 - y0 || 1));
  const root = sv("svg", { role: "img", "aria-label": o.label, viewBox: `0 0 ${width} ${height}`, height: height });
  ys.forEach((t, i) => root.append(sv("line", { class: "grid", x1: m.left, x2: m.left + w, y1: Y(t), y2: Y(t) }), sv("text", { x: m.left - 6, y: Y(t) + 4, "text-anchor": "end" }, told[i])));
  const [xs, step] = o.timex ? moments(x0, x1, w / 110) : [ticks(x0, x1, w / 80)];
  if (!o.names) for (const t of xs) root.append(sv("line", { class: "axis", x1: X(t), x2: X(t), y1: m.top + h, y2: m.top + h + 4 }), sv("text", { x: X(t), y: m.top + h + 17, "text-anchor": "middle" }, o.timex ? moment(t, step) : num(t)));
  root.append(sv("line", { class: "axis", x1: m.left, x2: m.left + w, y1: m.top + h, y2: m.top + h }));
  if (o.xlabel) root.append(sv("text", { x: m.left + w / 2, y: height - 6, "text-anchor": "middle" }, cut(o.xlabel, w / 7)));
  if (o.ylabel) root.append(sv("text", { transform: `translate(12 ${m.top + h / 2}) rotate(-90)`, "text-anchor": "middle" }, cut(o.ylabel, h / 6.5)));
  return { root, X, Y, m, w, h };
}
const cut = (text, most) => (text.length > most ? text.slice(0, Math.max(1, Math.floor(most) - 1)) + "…" : text);
function line(X, Y, xs, ys, style, keep) {
  let path = "", pen = false;
  xs.forEach((x, i) => { const ok = ys[i] !== null && (!keep || keep(i)); path += ok ? (pen ? "L" : "M") + X(x).toFixed(1) + " " + Y(ys[i]).toFixed(1) : ""; pen = ok; });
  return sv("path", { d: path || "M0 0", fill: "none", "stroke-width": 2, ...style });
}

// A cursor for pointer and arrow keys: xs are pixels, words(i) is what is told at each.
function cursor(p, xs, words) {
  const mark = sv("line", { class: "axis", y1: p.m.top, y2: p.m.top + p.h, visibility: "hidden" });
  p.root.append(mark);
  p.root.setAttribute("tabindex", "0");
  p.root.setAttribute("aria-roledescription", "chart; arrow keys read its values");
  let at = -1;
  function go(i, x, y) {
    at = Math.max(0, Math.min(xs.length - 1, i));
    mark.setAttribute("x1", xs[at]); mark.setAttribute("x2", xs[at]); mark.setAttribute("visibility", "visible");
    const box = p.root.getBoundingClientRect();
    tell(words(at), x === undefined ? box.left + xs[at] * box.width / p.root.viewBox.baseVal.width : x, y === undefined ? box.top + 20 : y);
  }
  p.root.addEventListener("pointermove", (event) => {
    const box = p.root.getBoundingClientRect(), x = (event.clientX - box.left) * p.root.viewBox.baseVal.width / box.width;
    let best = 0;
    xs.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(xs[best] - x)) best = i; });
    go(best, event.clientX, event.clientY);
  });
  p.root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    go(at + step);
    document.getElementById("live").textContent = words(at);
  });
  for (const name of ["pointerleave", "blur"]) p.root.addEventListener(name, () => { tip.hidden = true; mark.setAttribute("visibility", "hidden"); });
}
function tell(text, x, y) {
  tip.hidden = false;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - box.height - 4)) + "px";
}
function hover(node, words) {
  node.addEventListener("pointermove", (event) => tell(words, event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}

// bars: [{name, value, more, words}], from zero
function bars(width, list, o) {
  const left = Math.min(Math.max(...list.map((b) => b.name.length)) * 6.6 + 12, width * 0.42), size = 24, right = o.numbers ? 58 : 14;
  const [low, high] = span(list.flatMap((b) => [b.value - (b.band || 0), b.value + (b.band || 0), b.more === undefined ? 0 : b.more]), true);
  const X = (v) => left + (width - left - right) * (v - low) / (high - low);
  const root = sv("svg", { role: "img", "aria-label": o.label, viewBox: `0 0 ${width} ${list.length * size + 6}`, height: list.length * size + 6 });
  list.forEach((b, i) => {
    const y = i * size + 3, rect = (v, height, colour) => sv("rect", { x: Math.min(X(0), X(v)), width: Math.max(Math.abs(X(v) - X(0)), 0.5), y: y + (size - height) / 2, height: height, fill: colour, rx: 1.5 });
    const group = sv("g", {}, sv("rect", { x: 0, y: y, width: width, height: size, fill: "transparent" }),
      sv("text", { class: "strong", x: left - 8, y: y + size / 2 + 4, "text-anchor": "end" }, cut(b.name, left / 6.6)),
      b.more !== undefined ? rect(b.more, 16, "var(--bar)") : null,
      rect(b.value, b.more === undefined ? 15 : 8, o.signed && b.value > 0 ? "var(--two)" : "var(--one)"),
      b.band ? sv("line", { x1: X(b.value - b.band), x2: X(b.value + b.band), y1: y + size / 2, y2: y + size / 2, stroke: "var(--fg)", "stroke-width": 1.5 }) : null,
      o.numbers ? sv("text", { x: width - 2, y: y + size / 2 + 4, "text-anchor": "end" }, o.numbers(b)) : null);
    root.append(hover(group, b.words));
  });
  root.append(sv("line", { class: "axis", x1: X(0), x2: X(0), y1: 0, y2: list.length * size + 6 }));
  return root;
}

// -- the page --------------------------------------------------------------------------------
const sampled = D.n_used < D.n_rows ? `${num(D.n_used)} of ${num(D.n_rows)} rows, drawn at random` : `all ${num(D.n_rows)} rows`;
document.getElementById("lead").append(`Predicts ${D.target} (${D.task}) from ${D.columns.length} columns. Scores are from ${D.n_scored < D.n_rows ? num(D.n_scored) + " of " + num(D.n_rows) + " rows, drawn at random" : num(D.n_rows) + " rows"}; shares and effects from ${sampled}.`);
main.append(el("div", { class: "cards" }, D.cards.map(([name, value, more]) => el("div", { class: "card" }, el("span", {}, name), el("b", { title: value }, value), el("span", {}, more)))));

// scores
const scores = section("scores", "How good it is", "On the rows given for this report, with 95 % intervals. If the model was fitted to these rows, expect larger errors on new ones.");
const side = el("div", { class: "pair" });
scores.append(side);
side.append(el("div", {}, table("Scores", [["score", "name"], ["value", "value", num, true], ["from", "low", num, true], ["to", "high", num, true]], D.scores.map((s) => ({ ...s }))),
  D.coverage && D.coverage.length ? table("Prediction intervals: how many rows they contain", [["wanted", "a", share, true], ["observed", "b", share, true], ["mean width", "c", num, true]], D.coverage.map(([a, b, c]) => ({ a, b, c }))) : null));
if (D.scatter) side.append(figure((width) => {
  const range = grow(span([...D.scatter.x, ...D.scatter.y])), p = plot(width, Math.min(width, 360), { x: range, y: range, xlabel: "predicted", ylabel: "observed", label: "Observed against predicted values, a dot for each row; the closer to the diagonal the better." });
  p.root.append(sv("line", { x1: p.X(range[0]), y1: p.Y(range[0]), x2: p.X(range[1]), y2: p.Y(range[1]), class: "axis" }));
  D.scatter.x.forEach((x, i) => p.root.append(hover(sv("circle", { cx: p.X(x).toFixed(1), cy: p.Y(D.scatter.y[i]).toFixed(1), r: 2.5, fill: "var(--one)", "fill-opacity": 0.35 }), `predicted ${num(x)}\nobserved ${num(D.scatter.y[i])}`)));
  return p.root;
}, `Observed against predicted, ${num(D.scatter.x.length)} rows`));
if (D.confusion) {
  const { labels, counts } = D.confusion;
  side.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion" }, el("table", {}, el("caption", {}, "Rows by true class (down) and predicted class (across)"),
    el("thead", {}, el("tr", {}, el("td"), labels.map((label) => el("th", { scope: "col", class: "number" }, label)))),
    el("tbody", {}, counts.map((row, i) => { const sum = row.reduce((a, b) => a + b, 0) || 1; return el("tr", {}, el("th", { scope: "row" }, labels[i]), row.map((n) => el("td", { class: "number", style: `background:color-mix(in srgb,var(--one) ${Math.round(45 * n / sum)}%,transparent)` }, num(n)))); })))));
}
if (D.calibration) side.append(figure((width) => {
  const p = plot(width, Math.min(width, 320), { x: [0, 1], y: [0, 1], xlabel: D.calibration.what, ylabel: "observed share", label: "Calibration: observed shares against predicted probabilities; on the diagonal they agree." }), bins = D.calibration.bins;
  p.root.append(sv("line", { x1: p.X(0), y1: p.Y(0), x2: p.X(1), y2: p.Y(1), class: "axis" }), line(p.X, p.Y, bins.map((b) => b[0]), bins.map((b) => b[1]), { stroke: "var(--one)" }));
  bins.forEach((b) => p.root.append(sv("circle", { cx: p.X(b[0]), cy: p.Y(b[1]), r: 4, fill: "var(--one)" })));
  cursor(p, bins.map((b) => p.X(b[0])), (i) => `predicted ${share(bins[i][0])}\nobserved ${share(bins[i][1])}\n${num(bins[i][2])} rows`);
  return p.root;
}, "Calibration, in groups of equally many rows"));

// data
const data = section("data", "The columns", "Share alone: of the variance that a column explains by itself. Share in all: with its part in interactions.");
data.append(figure((width) => bars(width, D.columns.slice(0, 20).map((c) => ({ name: c.name, value: c.first, more: c.total, words: `${c.name}\nalone ${share(c.first)}\nin all ${share(c.total)}` })), { numbers: (b) => share(b.more), label: "Importances: " + D.columns.slice(0, 5).map((c) => `${c.name} ${share(c.total)}`).join(", ") }),
  `Shares in the variance of ${D.response}: alone (dark) and in all (pale)` + (D.columns.length > 20 ? "; the first 20 columns" : "")));
const gaps = D.columns.some((c) => c.gaps > 0), scales = D.columns.some((c) => c.scale !== null);
data.append(table("All columns; click a heading to sort", [["column", "name"], ["kind", "kind"], ["range", "range"], ["grid", "distinct", num, true],
  ...(D.columns[0].gaps === null ? [] : [["gaps", "gaps", share, true]]), ["functions", "functions", num, true], ...(scales ? [["length scale", "scale", num, true]] : []), ["alone", "first", share, true], ["in all", "total", share, true]], D.columns));
if (!gaps && D.columns[0].gaps !== null) data.append(el("p", { class: "soft" }, "No value is missing in these rows."));

// effects
const range = grow(span(D.effects.flatMap((e) => e.y.filter((_, i) => e.sure[i])), true), 0.08);
const effects = section("effects", "What each column does", `Change of ${D.response} from its mean ${num(D.effects[0].mean)} when a column is set to a value, averaged over the rows. Dashed where there are hardly any rows; the bars below show where the rows are. Small pictures share one axis.`);
let shown = 0, ownAxis = true;
const chooser = el("select", { id: "column", onchange: (event) => choose(+event.target.value) }, D.effects.map((e, i) => el("option", { value: i }, e.name)));
const at = (e, x) => (e.time ? moment(x) : num(x));
const big = figure((width) => effectPlot(D.effects[shown], width, Math.min(340, Math.max(240, width * 0.5)), true), "");
const bigNumbers = el("div"), thumbs = el("div", { class: "thumbs" });
function effectPlot(e, width, height, large) {
  const isNames = !e.edges, xs = isNames ? e.x.map((_, i) => i) : e.x, keep = (i) => e.sure[i];
  if (isNames && large) return bars(width, e.x.map((name, i) => ({ name: name, value: e.y[i], band: e.band ? 2 * e.band[i] : 0, words: `${name}\n${signed(e.y[i])}${e.band ? " ± " + num(2 * e.band[i], 2) : ""}\n${num(e.counts[i])} rows` })), { signed: true, numbers: (b) => signed(b.value), label: words(e) });
  const own = grow(span([...e.y.filter((_, i) => e.sure[i]), ...(e.band ? e.y.flatMap((v, i) => (e.sure[i] ? [v - 2 * e.band[i], v + 2 * e.band[i]] : [])) : [])], true), 0.08);
  const p = plot(width, height, { x: isNames ? [-0.5, xs.length - 0.5] : span(xs), y: large && ownAxis ? own : range, names: isNames || !large, xlabel: large ? e.name : "", ylabel: large ? D.response : "", left: large ? null : 30, timex: e.time, small: !large, label: words(e) });
  if (!isNames) {
    const most = Math.max(...e.counts, 1);
    e.counts.forEach((n, i) => p.root.append(sv("rect", { x: p.X(e.edges[i]), width: Math.max(p.X(e.edges[i + 1]) - p.X(e.edges[i]) - 0.5, 0.5), y: p.m.top + p.h * (1 - 0.22 * n / most), height: p.h * 0.22 * n / most, fill: "var(--bar)" })));
  }
  p.root.append(sv("line", { class: "axis", x1: p.m.left, x2: p.m.left + p.w, y1: p.Y(0), y2: p.Y(0) }));
  const clip = "c" + Math.random().toString(36).slice(2);
  const inside = sv("g", { "clip-path": `url(#${clip})` });
  p.root.append(sv("clipPath", { id: clip }, sv("rect", { x: p.m.left, y: p.m.top, width: p.w, height: p.h })), inside);
  if (e.band && !isNames) {
    // like the solid line, only where there are rows
    const runs = [];
    xs.forEach((x, i) => {
      if (e.sure[i] && !(i && e.sure[i - 1])) runs.push([]);
      if (e.sure[i]) runs[runs.length - 1].push(i);
    });
    for (const run of runs) {
      const edge = (times) => run.map((i) => `${p.X(xs[i]).toFixed(1)},${p.Y(e.y[i] + times * e.band[i]).toFixed(1)}`);
      inside.append(sv("polygon", { points: [...edge(2), ...edge(-2).reverse()].join(" "), fill: "var(--one)", "fill-opacity": 0.18 }));
    }
  }
  if (isNames) xs.forEach((x, i) => inside.append(sv("line", { x1: p.X(x), x2: p.X(x), y1: p.Y(0), y2: p.Y(e.y[i]), stroke: "var(--one)", "stroke-width": 3 })));
  else inside.append(line(p.X, p.Y, xs, e.y, { stroke: "var(--one)", "stroke-dasharray": "4 4", "stroke-opacity": 0.6, "stroke-width": 1.2 }), line(p.X, p.Y, xs, e.y, { stroke: "var(--one)" }, keep));
  if (large) cursor(p, xs.map(p.X), (i) => `${e.name} = ${at(e, e.x[i])}\n${signed(e.y[i])}${e.band ? " ± " + num(2 * e.band[i], 2) : ""}${e.sure[i] ? "" : "\nhardly any rows here"}`);
  return p.root;
}
function words(e) {
  const among = e.y.map((v, i) => [v, e.x[i], e.sure[i]]).filter((v) => v[2]), list = among.length ? among : e.y.map((v, i) => [v, e.x[i]]);
  const low = list.reduce((a, b) => (b[0] < a[0] ? b : a)), high = list.reduce((a, b) => (b[0] > a[0] ? b : a));
  return `Effect of ${e.name}: from ${signed(low[0])} at ${at(e, low[1])} to ${signed(high[0])} at ${at(e, high[1])}`;
}
function choose(i) {
  shown = (i + D.effects.length) % D.effects.length;
  chooser.value = shown;
  const e = D.effects[shown];
  big.querySelector("figcaption").textContent = words(e) + (e.band ? `; ${e.edges ? "band" : "lines"}: twice the standard deviation` : "") + (e.left ? `; ${e.left} categories with smaller effects left out` : "");
  bigNumbers.replaceChildren(numbers([e.name, D.response, "rows near"], () => e.x.map((x, k) => [at(e, x), e.y[k], e.sure[k] ? "yes" : "hardly any"])));
  [...thumbs.children].forEach((thumb, k) => thumb.setAttribute("aria-pressed", k === shown));
  renderAll(true);
}
big.append(el("figcaption"));
effects.append(el("div", { class: "controls" }, el("label", { for: "column" }, "Column"), chooser,
  el("button", { type: "button", onclick: () => choose(shown - 1) }, "previous"), el("button", { type: "button", onclick: () => choose(shown + 1) }, "next"),
  el("label", {}, el("input", { type: "checkbox", onchange: (event) => { ownAxis = !event.target.checked; renderAll(true); } }), " shared axis")), big, bigNumbers, thumbs);
D.effects.slice(0, 12).forEach((e, i) => {
  const small = figure((width) => effectPlot(e, width, 92, false));
  thumbs.append(el("button", { type: "button", class: "thumb", "aria-pressed": false, title: e.name, onclick: () => choose(i) }, el("span", {}, e.name), small));
});

// pairs
if (D.pairs.length) {
  const part = section("pairs", "Which columns act together", `The strongest interactions: what two columns do to ${D.response} beyond the sum of what each does. Blank where there are no rows.`);
  let which = 0;
  const maps = el("div", { class: "thumbs" }), pickPair = (i) => { which = i; picker.value = i; [...maps.children].forEach((map, k) => map.setAttribute("aria-pressed", k === which)); renderAll(true); };
  const picker = el("select", { id: "pair", onchange: (event) => pickPair(+event.target.value) }, D.pairs.map((q, i) => el("option", { value: i }, `${q.names[0]} × ${q.names[1]} (${share(q.share)})`)));
  part.append(el("div", { class: "controls" }, el("label", { for: "pair" }, "Pair"), picker));
  const drawMap = (q, width, large) => {
    const isX = typeof q.x[0] === "number", isY = typeof q.y[0] === "number";
    const long = !large ? 4 : isY ? null : Math.min(Math.max(...q.y.map((v) => v.length)) * 6.6 + 26, width * 0.35);
    const centre = (v, number) => (number ? v : v.map((_, i) => i));
    const edges = (v) => v.length < 2 ? [v[0] - 0.5, v[0] + 0.5] : [1.5 * v[0] - 0.5 * v[1], ...v.slice(1).map((b, i) => (b + v[i]) / 2), 1.5 * v[v.length - 1] - 0.5 * v[v.length - 2]];
    const ex = edges(centre(q.x, isX)), ey = edges(centre(q.y, isY)), largest = Math.max(...q.z.flat().map((v) => Math.abs(v || 0)), 1e-300);
    const p = plot(width, large ? Math.min(400, Math.max(260, width * 0.55)) : 92, { x: [ex[0], ex[ex.length - 1]], y: [ey[0], ey[ey.length - 1]], names: !isX || !large, left: long, timex: q.times[0], timey: q.times[1], small: !large, xlabel: large ? q.names[0] : "", ylabel: large ? q.names[1] : "", label: `Interaction of ${q.names[0]} and ${q.names[1]}, up to ${num(largest, 3)}` });
    if (!isY || !large) p.root.querySelectorAll("text[text-anchor=end],.grid").forEach((t) => t.remove());
    if (!isY && large) q.y.forEach((name, i) => p.root.append(sv("text", { x: long - 6, y: p.Y(i) + 4, "text-anchor": "end" }, cut(name, long / 6.6))));
    if (!isX && large) q.x.forEach((name, i) => p.root.append(sv("text", { x: p.X(i), y: p.m.top + p.h + 16, "text-anchor": "middle" }, cut(name, p.w / q.x.length / 6.5))));
    q.x.forEach((x, i) => q.y.forEach((y, j) => {
      const v = q.z[i][j];
      p.root.append(hover(sv("rect", { x: p.X(ex[i]), width: Math.max(p.X(ex[i + 1]) - p.X(ex[i]), 0.5), y: p.Y(ey[j + 1]), height: Math.max(p.Y(ey[j]) - p.Y(ey[j + 1]), 0.5), "shape-rendering": "crispEdges", fill: v === null ? "var(--none)" : v > 0 ? "var(--two)" : "var(--one)", "fill-opacity": v === null ? 1 : Math.min(1, Math.abs(v) / largest) }),
        `${q.names[0]} = ${q.times[0] ? moment(x) : num(x)}\n${q.names[1]} = ${q.times[1] ? moment(y) : num(y)}\n${v === null ? "no rows" : signed(v)}`));
    }));
    return p.root;
  };
  part.append(figure((width) => drawMap(D.pairs[which], width, true), "Orange raises, blue lowers; the stronger the colour the more. In brackets: share in the variance."));
  if (D.pairs.length > 1) {
    D.pairs.forEach((q, i) => maps.append(el("button", { type: "button", class: "thumb", "aria-pressed": i === 0, onclick: () => pickPair(i) }, el("span", {}, `${q.names[0]} × ${q.names[1]}`), figure((width) => drawMap(q, width, false)))));
    part.append(maps);
  }
  part.append(table("Pairs", [["first", "a"], ["second", "b"], ["share", "share", share, true]], D.pairs.map((q) => ({ a: q.names[0], b: q.names[1], share: q.share }))));
}

// rows
const isNumber = D.task === "regression";
const rows = section("rows", "Where it is most wrong", "The rows with the largest errors, and how each column contributes to their predictions: exact Shapley values, which add up from the mean to the prediction.");
const why = el("div");
function explain(row) {
  const order = row.parts.map((v, d) => [v, d]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])), few = order.slice(0, 12), rest = order.slice(12).reduce((a, b) => a + b[0], 0);
  const list = few.map(([v, d]) => ({ name: `${D.names[d]} = ${num(row.values[d])}`, value: v, words: `${D.names[d]} = ${num(row.values[d])}\n${signed(v)}` }));
  if (order.length > 12) list.push({ name: `${order.length - 12} others`, value: rest, words: signed(rest) });
  why.replaceChildren(el("h3", {}, `Row ${row.n}: from the mean ${num(row.base)} to ${num(row.value)}`), figure((width) => bars(width, list, { signed: true, numbers: (b) => signed(b.value), label: list.slice(0, 5).map((b) => b.words.replace("\n", " ")).join("; ") }), `Contributions to ${row.response}`));
  renderAll();
}
rows.append(el("div", { class: "pair" }, table("Rows, counted from 0", [["row", "n", String, true], ["observed", "observed", num, isNumber], ["predicted", "predicted", num, isNumber], [isNumber ? "error" : "probability of the truth", "error", isNumber ? signed : num, true]], D.rows, explain), why));

// decisions
const decisions = section("decisions", "What was decided, and why");
decisions.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Decisions" }, el("table", {}, el("tbody", {}, D.decisions.map(([name, value, text]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value), el("td", { class: "soft" }, text)))))));
if (D.path.length) decisions.append(el("h3", {}, "Models that were tried"), table("Errors on held-out rows", [["rank", "rank", num, true], ["penalty α", "alpha", num, true], ["held-out error", "error", num, true], ["seconds so far", "seconds", num, true], ...(D.path.some((p) => p[4] !== null) ? [["full rank mixed in", "share", share, true]] : [])], D.path.map(([rank, alpha, error, seconds, mixed]) => ({ rank, alpha, error, seconds, share: mixed }))));
const curve = (name, list) => figure((width) => {
  const xs = list.map((v) => v[0]), ys = list.map((v) => v[1]), p = plot(width, 230, { x: span(xs), y: grow(span(ys)), xlabel: "epoch", ylabel: name, label: `${name}: ${num(ys[0])} after the first epoch, ${num(ys[ys.length - 1])} at the end` });
  p.root.append(line(p.X, p.Y, xs, ys, { stroke: "var(--one)" }));
  cursor(p, xs.map(p.X), (i) => `epoch ${xs[i]}\n${num(ys[i])}`);
  return p.root;
}, name);
const curves = el("div", { class: "pair" });
if (D.history.objective.length > 1) curves.append(curve("training objective", D.history.objective));
if (D.history.validation_score.length > 1) curves.append(curve("validation score: " + D.history.score, D.history.validation_score));
if (D.spectra.length) {
  let which = 0;
  curves.append(el("div", {}, el("div", { class: "controls" }, el("label", { for: "spectrum" }, "Spectrum of"), el("select", { id: "spectrum", onchange: (event) => { which = +event.target.value; renderAll(true); } }, D.spectra.map((s, i) => el("option", { value: i }, s.name)))), figure((width) => {
    const s = D.spectra[which], above = (v) => v.map((x) => (x > 0 ? x : null)), all = [...above(s.network), ...above(s.main || [])].filter((v) => v !== null), top = Math.max(...all), low = Math.max(Math.min(...all), top * 1e-8);
    const p = plot(width, 230, { x: span(s.x), y: all.length ? [low / 2, top * 2] : [0.1, 1], logy: true, xlabel: `frequency (periods per unit of ${s.name})`, ylabel: "size of weights", label: `Spectrum of ${s.name}` });
    for (const [values, colour] of [[s.network, "var(--one)"], [s.main, "var(--two)"]]) if (values) p.root.append(line(p.X, p.Y, s.x, above(values).map((v) => (v !== null && v < low / 2 ? null : v)), { stroke: colour, "stroke-width": 1.5 }));
    cursor(p, s.x.map(p.X), (i) => `frequency ${num(s.x[i])}\nnetwork ${num(s.network[i])}${s.main ? "\nmain effect " + num(s.main[i]) : ""}`);
    return p.root;
  }, "Sizes of weights by frequency: network (blue), main effect (orange)")));
}
if (curves.childElementCount) decisions.append(el("h3", {}, "Learning curve and spectrum"), curves);

// use
const use = section("use", "How to use the model");
use.append(el("h3", {}, "In Python"), el("pre", { tabindex: "0" }, el("code", {}, D.code.python)), el("h3", {}, "From a shell"), el("pre", { tabindex: "0" }, el("code", {}, D.code.shell)));
document.getElementById("notes").append(el("p", {}, `Written by qtkm ${D.version} on ${D.created}. This file contains everything it shows and loads nothing from elsewhere. Intervals of scores come from the spread over rows. Shares are Sobol indices for columns that are independent of each other; where columns depend on each other they describe the model, not the data.`));

choose(0);
if (D.rows.length) { D.rows.chosen = D.rows[0]; explain(D.rows[0]); }
document.documentElement.dataset.ready = "yes";
