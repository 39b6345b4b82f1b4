"use strict";
// Texts are hostile: they only ever become text nodes.
const at = (id) => document.getElementById(id);
const made = (tag, text, kind) => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
const SUPPORT = ["supported", "unsupported", "free"];

function shown(answer) {
  const verdicts = { true: "Faithful.", false: "Not faithful." };
  at("verdict").textContent = verdicts[answer.faithful] || `No verdict: ${answer.reason}.`;
  at("words").replaceChildren();
  for (const word of answer.words || []) {
    const kind = SUPPORT.includes(word.support) ? word.support : "free";
    const node = made("span", word.text, kind);
    if (kind === "unsupported") node.title = "not supported by the document";
    at("words").append(node, " ");
  }
  at("findings").replaceChildren(...(answer.findings || []).map((one) => {
    const row = made("li", `${one.kind}: ${one.sentence}`);
    row.append(made("blockquote", one.passage));
    return row;
  }));
  const said = { true: "yes", false: "no" };
  at("scores").replaceChildren(...answer.scores.map((one) => {
    const row = document.createElement("tr");
    const value = one.value === null ? `– (${one.reason})` : one.value.toFixed(3);
    row.append(made("td", one.metric), made("td", value), made("td", said[one.faithful] || "–"));
    return row;
  }));
}

async function asked(event) {
  event.preventDefault();
  at("ask").disabled = true;
  at("answer").hidden = false;
  at("verdict").textContent = "…";
  at("words").replaceChildren();
  at("findings").replaceChildren();
  at("scores").replaceChildren();
  try {
    const headers = { "Content-Type": "application/json" };
    if (at("key").value) headers.Authorization = `Bearer ${at("key").value}`;
    const body = JSON.stringify({ document: at("document").value, response: at("response").value, words: true });
    const reply = await fetch("ground", { method: "POST", headers, body });
    const answer = await reply.json();
    if (reply.ok) shown(answer);
    else at("verdict").textContent = `${reply.status}: ${answer.detail}`;
  } catch (error) {
    at("verdict").textContent = `The service does not answer: ${error.message}`;
  } finally {
    at("ask").disabled = false;
  }
}

at("keyed").hidden = document.body.dataset.key !== "needed";
at("form").addEventListener("submit", asked);
document.documentElement.dataset.ready = "yes";
