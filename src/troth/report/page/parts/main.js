// Tabs, theme, and the beginning.
const page = JSON.parse(document.getElementById("page").textContent);
const app = document.getElementById("app");
const root = document.documentElement;

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
const remembered = () => {
  try {
    return localStorage.getItem("troth-theme");
  } catch {
    return null;
  }
};
const switchTheme = el("button", {
  class: "switch",
  type: "button",
  onclick: () => setTheme(root.dataset.theme === "dark" ? "light" : "dark", true),
});

function setTheme(name, keep) {
  root.dataset.theme = name;
  switchTheme.textContent = name === "dark" ? "Light" : "Dark";
  switchTheme.setAttribute("aria-label", name === "dark" ? "Use light colours" : "Use dark colours");
  if (!keep) return;
  chosenTheme = name;
  try {
    localStorage.setItem("troth-theme", name);
  } catch {
    /* a page opened from disk may have no storage */
  }
}
chosenTheme = remembered();
setTheme(chosenTheme || (dark.matches ? "dark" : "light"), false);
dark.addEventListener("change", () => chosenTheme || setTheme(dark.matches ? "dark" : "light", false));

// Trajectories have an explorer of their own; without dialogues it is the only one.
const explorers = [
  ...(hasTrials() ? [["trajectories", "Trajectories", new TrialExplorer()]] : []),
  ...(hasDialogues() || !hasTrials() ? [["explorer", "Explorer", new DialogueExplorer()]] : []),
];
const exploring = new Map(explorers.map(([id, , one]) => [id, one]));
const sections = [
  ["summary", "Summary"],
  ...page.sections.map((section) => [section.id, section.title]),
  ...explorers.map(([id, title]) => [id, title]),
];
const tabs = el(
  "nav",
  { class: "tabs", "aria-label": "Sections" },
  sections.map(([id, title]) => el("a", { href: `#${id}`, "data-tab": id }, title)),
);
const sheets = [summarySheet(page), ...page.sections.map(sectionSheet), ...explorers.map(([, , one]) => one.sheet)];
app.append(
  el(
    "header",
    { class: "top" },
    el("div", { class: "top-in" }, el("a", { class: "brand", href: "#summary" }, "troth"), tabs, switchTheme),
  ),
  el("main", {}, sheets),
);
const isEmpty = (id) => id === "explorer" && !hasDialogues();
if (isEmpty("explorer")) exploring.get("explorer")?.sheet.replaceChildren(el("p", { class: "empty" }, page.explorer));

function open(id) {
  for (const sheet of sheets) sheet.classList.toggle("hidden", sheet.id !== `sheet-${id}`);
  for (const tab of tabs.children) {
    if (tab.dataset.tab === id) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  document.body.classList.toggle("exploring", exploring.has(id));
  document.body.dataset.open = id;
}

function route() {
  const parts = location.hash.slice(1).split("/");
  const whole = (list, number) => [...list.map(decode), ...Array(number).fill("")].slice(0, number);
  if (parts.length > 1 && parts[0] === "trajectories" && hasTrials()) {
    open("trajectories");
    exploring.get("trajectories").show(...whole(parts.slice(1), 5));
    return;
  }
  if (parts.length > 1 && hasDialogues()) {
    open("explorer");
    exploring.get("explorer").show(...whole(parts, 4));
    return;
  }
  const known = sections.some(([id]) => id === parts[0]) ? parts[0] : "summary";
  open(known);
  if (exploring.has(known) && !isEmpty(known)) exploring.get(known).start();
  else window.scrollTo(0, 0);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  exploring.get(document.body.dataset.open)?.key(event);
});
route();
document.documentElement.dataset.ready = "yes";
if (hasDialogues()) (window.requestIdleCallback || setTimeout)(() => loadDialogues());
if (hasTrials()) (window.requestIdleCallback || setTimeout)(() => loadTrials());
