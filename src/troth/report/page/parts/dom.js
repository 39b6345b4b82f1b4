// Elements are made here and nowhere else. Text goes in as text: the page's policy refuses anything that parses markup.
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes, children, namespace) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const el = (tag, attributes, ...children) => make(tag, attributes, children);
const svg = (tag, attributes, ...children) => make(tag, attributes, children, SVG);

const colour = (place) => `var(--c${place % 8})`;

function percent(value, digits = 1) {
  return value === null || value === undefined
    ? "–"
    : (Math.round(value * 10 ** (digits + 2)) / 10 ** digits + 0).toFixed(digits);
}

// What a tooltip and an axis show of a number.
function shown(value, isPercent) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (isPercent) return percent(value) + "%";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(2);
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// RFC 4180; text that a spreadsheet would take for a formula gets a quote before it. Numbers stay numbers.
const FORMULA = /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/;
const NUMBER = /^[+-]?[\d.]+(e[+-]?\d+)?$/;

function csv(fields, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    let text = String(value);
    if (FORMULA.test(text) && !NUMBER.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [fields, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
