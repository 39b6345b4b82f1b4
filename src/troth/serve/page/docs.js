"use strict";
// Shows openapi.json. Nothing is loaded from elsewhere, so that it works without a network.
const at = (id) => document.getElementById(id);
const made = (tag, text, ...inside) => {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  node.append(...inside);
  return node;
};
const nameOf = (ref) => ref.split("/").pop();

function kind(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.prefixItems) return `[${schema.prefixItems.map(kind).join(", ")}]`;
  if (schema.type === "array") return `list of ${kind(schema.items || {})}`;
  if (schema.type === "object") return schema.additionalProperties ? `object of ${kind(schema.additionalProperties)}` : "object";
  return schema.type || "anything";
}

function fields(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, own]) => {
    const needed = (schema.required || []).includes(name) ? "required" : "default" in own ? JSON.stringify(own.default) : "";
    return made("tr", "", made("td", name), made("td", kind(own)), made("td", needed));
  });
  const head = made("thead", "", made("tr", "", made("th", "field"), made("th", "type"), made("th", "default")));
  return made("table", "", head, made("tbody", "", ...rows));
}

function operation(path, method, own) {
  const body = own.requestBody ? Object.values(own.requestBody.content)[0].schema : null;
  const answers = Object.entries(own.responses).map(([status, answer]) => {
    const [type, content] = Object.entries(answer.content || {})[0] || ["", {}];
    const what = content.schema ? ` (${type === "application/json" ? kind(content.schema) : type})` : "";
    return made("li", `${status}: ${answer.description}${what}`);
  });
  const parts = [made("h2", `${method.toUpperCase()} ${path}`), made("p", own.summary)];
  if (body) parts.push(made("p", `Request: ${kind(body)}`));
  return made("section", "", ...parts, made("ul", "", ...answers));
}

async function shown() {
  const whole = await (await fetch("openapi.json")).json();
  at("about").textContent = whole.info.description;
  for (const [path, operations] of Object.entries(whole.paths)) {
    for (const [method, own] of Object.entries(operations)) at("operations").append(operation(path, method, own));
  }
  for (const [name, schema] of Object.entries(whole.components.schemas)) {
    at("records").append(made("h3", name), made("p", schema.description), fields(schema));
  }
  document.documentElement.dataset.ready = "yes";
}

shown().catch((error) => { at("about").textContent = `The description cannot be read: ${error.message}`; });
