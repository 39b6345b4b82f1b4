// The trajectories: inflated once, with a light record for each trial, which the list shows and the filters ask.
const packedTrials = document.getElementById("trajectories").textContent;
const hasTrials = () => packedTrials.length > 0;
let loadingTrials = null;

function loadTrials() {
  loadingTrials ||= inflated(packedTrials).then(indexedTrials);
  return loadingTrials;
}

// #trajectories/task/trial, then a turn (3) or a message (m12), the system, and what stands beside it.
function trialLink(task, trial, place, system, beside) {
  const parts = ["trajectories", task, trial, place, system || "", beside || ""].map(encodeURIComponent);
  return "#" + parts.join("/").replace(/\/+$/, "");
}

const trialKey = (system, task, trial) => JSON.stringify([system, task, String(trial)]);
const OUTCOME = { solved: ["✓", "solved"], failed: ["✕", "failed"], unknown: ["·", "not judged"] };
const outcome = (raw) => (typeof raw.solved !== "number" ? "unknown" : raw.solved >= 1 ? "solved" : "failed");

function indexedTrials(data) {
  const corpus = { ...data, byKey: new Map(), byTask: new Map(), items: [] };
  data.trials.forEach((raw, place) => {
    const item = { place, id: raw.task, trial: raw.trial, system: raw.system, raw, outcome: outcome(raw), text: null };
    item.verdicts = stateVerdicts(raw);
    item.calls = callsOf(raw).map(([call]) => call);
    item.tools = new Set([...item.calls.map((call) => call.tool), ...(raw.gold || []).map((one) => one.tool)]);
    const claims = messagesOf(raw).flatMap((message) => message.claims || []);
    item.unclaimed = claims.some((claim) => claim.kind === "action" && !claim.supported);
    item.unsupported = claims.some((claim) => claim.kind !== "action" && !claim.supported);
    corpus.items.push(item);
    corpus.byKey.set(trialKey(raw.system, raw.task, raw.trial), item);
    const task = corpus.byTask.get(raw.task) || [];
    corpus.byTask.set(raw.task, task);
    task.push(item);
  });
  const order = new Intl.Collator("en", { numeric: true });
  corpus.items.sort((a, b) => order.compare(a.id, b.id) || a.system - b.system || a.trial - b.trial);
  for (const items of corpus.byTask.values())
    for (const item of items) {
      const mine = items.filter((one) => one.system === item.system).map((one) => one.outcome);
      item.wavers = mine.includes("solved") && mine.includes("failed");
    }
  return corpus;
}

const messagesOf = (raw) => raw.messages || [];

// Every call with its message.
const callsOf = (raw) => messagesOf(raw).flatMap((message) => (message.calls || []).map((call) => [call, message]));

// Turn by turn: right, the first mistake (fresh), or wrong since then (inherited); none without gold.
function stateVerdicts(raw) {
  return (raw.states || []).map((state) => {
    if (typeof state.right !== "boolean") return "none";
    if (state.right) return "right";
    return state.turn === raw.first_wrong_turn ? "fresh" : "inherited";
  });
}

// Everything that was said, called and answered in a trial, in small letters: made when it is first searched.
function searchableTrial(corpus, item) {
  if (item.text === null) {
    const said = messagesOf(item.raw).filter((one) => one.role !== "system").map((one) => corpus.texts[one.text]);
    const called = item.calls.map((call) => `${call.tool} ${JSON.stringify(call.arguments || call.broken || "")}`);
    item.text = [item.id, ...said, ...called].join("\n").toLowerCase();
  }
  return item.text;
}

// What is drawn one under the other: a result stands with its call, so it is no unit of its own.
function unitsOf(raw) {
  const results = new Set(callsOf(raw).map(([call]) => call.result));
  return messagesOf(raw).filter((message) => message.role !== "tool" || !results.has(message.index));
}

// JSON with sorted keys, to tell whether two calls are the same.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "";
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

const sameCall = (call) => `${call.tool} ${canonical(call.arguments || call.broken || {})}`;
const changes = (raw) => callsOf(raw).filter(([call]) => call.writes && !call.failed);

// Where two trials part, as messages of each: the first call that changes something and differs. Null: they do not.
function partingOf(one, other) {
  if (one.system === other.system) {
    const found = (one.raw.partings || []).find((parting) => parting.trial === other.trial);
    return found ? [found.message ?? null, found.other ?? null] : null;
  }
  const [mine, theirs] = [changes(one.raw), changes(other.raw)];
  for (let i = 0; i < Math.max(mine.length, theirs.length); i++) {
    const [ours, its] = [mine[i], theirs[i]];
    if (ours && its && sameCall(ours[0]) === sameCall(its[0])) continue;
    return [ours ? ours[1].index : null, its ? its[1].index : null];
  }
  return null;
}
