// One trajectory, user turn by user turn: what was said and called on the left, gold's calls and the state on the right.
function trialTurns(raw) {
  const turns = new Map();
  for (const unit of unitsOf(raw)) {
    const turn = unit.turn ?? -1;
    if (!turns.has(turn)) turns.set(turn, { turn, units: [] });
    turns.get(turn).units.push(unit);
  }
  const last = Math.max(-1, ...turns.keys());
  const states = new Map((raw.states || []).map((state) => [state.turn, state]));
  const turnOf = new Map(messagesOf(raw).map((message) => [message.index, message.turn ?? -1]));
  const gold = new Map();
  for (const one of raw.gold || []) {
    const turn = one.message !== undefined ? turnOf.get(one.message) : (one.turn ?? last);
    gold.set(turn, [...(gold.get(turn) || []), one]);
  }
  return [...turns.values()].map((one) => ({ ...one, state: states.get(one.turn), gold: gold.get(one.turn) || [] }));
}

function trialRows(corpus, item, options) {
  const { raw } = item;
  const judged = raw.gold !== undefined && raw.gold !== null;
  let before = null;
  const rows = trialTurns(raw).map((one) => {
    const place = one.turn < 0 ? "start" : String(one.turn);
    const first = one.turn >= 0 && one.turn === raw.first_wrong_turn;
    const inMessage = first && one.units.some((unit) => unit.index === raw.first_wrong_message);
    const blocks = one.units.map((unit) => [
      inMessage && unit.index === raw.first_wrong_message ? firstMistake("this call is not what gold expects") : null,
      messageBlock(corpus, unit, raw, options),
    ]);
    const left = el("div", {}, blocks, first && !inMessage ? firstMistake("a call that gold expects was not made") : null);
    const right = judged ? el("div", { class: "beside" }, one.gold.map((gold) => goldBlock(gold, raw)), stateRows(one.state, before, first)) : null;
    before = one.state || before;
    return el(
      "div",
      { class: first ? "turn first-wrong" : "turn", id: `turn-${place}`, "data-turn": place },
      el("div"),
      el("div", { class: "number" }, el("a", { href: options.link(place) }, turnName(one.turn)), stateMark(one.state)),
      el("div", { class: "body" }, el("div", { class: judged ? "columns against" : "columns" }, left, right)),
    );
  });
  return el("div", { class: "turns trial" }, rows);
}

const turnName = (turn) => (turn < 0 ? "start" : `turn ${turn}`);

const firstMistake = (text) => el("p", { class: "first" }, el("b", {}, "▼ First mistake"), `: ${text}`);

function stateMark(state) {
  if (!state || typeof state.right !== "boolean") return null;
  const [kind, sign, text] = state.right ? ["match yes", "✓", "state"] : ["match no", "✕", "state"];
  const told = el("span", { class: "visually-hidden" }, state.right ? ": right" : ": wrong");
  return el("div", { class: kind }, el("b", { "aria-hidden": "true" }, sign), text, told);
}

// Slots as [service, slot, gold's values, predicted value].
function slotsOf(state) {
  const names = (side) => Object.entries(state[side] || {}).flatMap(([service, slots]) => Object.keys(slots).map((slot) => [service, slot]));
  const every = new Map([...names("gold"), ...names("pred")].map((pair) => [JSON.stringify(pair), pair]));
  return [...every.values()].map(([service, slot]) => ({
    service,
    slot,
    gold: (state.gold || {})[service]?.[slot],
    pred: (state.pred || {})[service]?.[slot],
  }));
}

const slotKind = ({ gold, pred }) => (!gold ? "invented" : !pred ? "missed" : gold.includes(pred[0]) ? "right" : "wrong");

// The state after a turn, where it is another than before: what is wrong, then the rest.
function stateRows(state, before, open) {
  if (!state || typeof state.right !== "boolean") return null;
  const key = (one) => canonical([one?.pred || {}, one?.gold || {}]);
  if (key(state) === key(before)) return null;
  const slots = slotsOf(state);
  if (!slots.length) return null;
  const old = new Set((before ? slotsOf(before) : []).map((slot) => canonical(slot)));
  const wrong = slots.filter((slot) => slotKind(slot) !== "right");
  const right = slots.filter((slot) => slotKind(slot) === "right");
  return el(
    "details",
    { class: "folded call-state", open },
    el("summary", {}, `State after this turn: ${right.length} of ${slots.length} arguments right`),
    wrong.map((slot) => stateFault(slot, old.has(canonical(slot)))),
    right.map(({ service, slot, pred }) =>
      el(
        "div",
        { class: "arg" },
        el("span", { class: "name" }, `${service}.${slot}`),
        el("span", { class: "value" }, folded(pred[0], LONG.value)),
      ),
    ),
  );
}

function stateFault(slot, old) {
  const kind = slotKind(slot);
  return el(
    "div",
    { class: old ? "fault old" : "fault" },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[kind]),
    el("span", { class: "what" }, `${slot.service}.${slot.slot}`),
    el("span", { class: "kind" }, SAID[kind]),
    slot.gold ? el("span", { class: "gold" }, "gold ", el("b", {}, folded(slot.gold.join(" | "), LONG.value))) : null,
    slot.pred ? el("span", { class: "pred" }, "called ", el("b", {}, folded(slot.pred[0], LONG.value))) : null,
  );
}
