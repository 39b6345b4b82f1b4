// The dialogues: inflated once, looked up by place, made readable one at a time.
const SIGNS = { missed: "−", invented: "+", wrong: "≠", stale: "↺" };
const SAID = { missed: "missed", invented: "invented", wrong: "wrong value", stale: "stale" };
const packed = document.getElementById("dialogues").textContent;
const hasDialogues = () => packed.length > 0;
let loading = null;

function bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text),
    found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return found;
}

const inflated = (text) =>
  new Response(new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).json();

function loadDialogues() {
  loading ||= inflated(packed).then(indexed);
  return loading;
}

// One light record a dialogue: what the list shows and the filters ask for.
function indexed(data) {
  const corpus = { ...data, byKey: new Map(), items: [] };
  data.dialogues.forEach((raw, place) => {
    const [set, id, services, utterances, tracks] = raw;
    const numbers = utterances.filter((said) => said[2] >= 0).map((said) => said[2]);
    const item = { place, set, id, services, numbers, tracks: new Map(), text: null };
    for (const [system, turns, answers] of tracks) {
      const verdicts = turns.length
        ? numbers.map((number, i) => verdict(turns[i], number))
        : answers.map(answerVerdict);
      const faults = new Map();
      for (const turn of turns)
        if (turn)
          for (const [service, slot, kind] of turn[2]) faults.set(`${service}/${slot}/${kind}`, [service, slot, kind]);
      item.tracks.set(system, {
        tracked: turns.length > 0, // what answers alone has no state to be wrong about
        verdicts,
        faults: [...faults.values()],
        answers: answers.map(answerVerdict),
        lacks: answers.some(lacksValue),
      });
    }
    corpus.byKey.set(`${set}/${id}`, item);
    corpus.items.push(item);
  });
  return corpus;
}

// right: exact; fresh: this turn made a mistake; inherited: wrong through an earlier one; none: not scored.
function verdict(turn, number) {
  if (turn === null || turn === undefined) return "none";
  if (turn === 0 || !turn[1].length) return "right";
  return turn[1].some((unit) => unit[2] === number) ? "fresh" : "inherited";
}

const conveyed = (act) => (act[5] === null ? !act[4].length : act[5]);
const answerVerdict = (answer) => (answer[1] !== null && answer[2].every(conveyed) ? "right" : "fresh");
const lacksValue = (answer) => answer[1] === null || answer[2].some((act) => act[4].length);

// Everything that was said and answered in a dialogue, in small letters: made when it is first searched.
function searchable(corpus, item) {
  if (item.text === null) {
    const raw = corpus.dialogues[item.place];
    const answers = raw[4].flatMap((track) => track[2].map((answer) => answer[1] || ""));
    item.text = [item.id, ...raw[3].map((said) => said[1]), ...answers].join("\n").toLowerCase();
  }
  return item.text;
}

// A dialogue as turns.js draws it, from one system's point of view.
function unpacked(corpus, item, system) {
  const raw = corpus.dialogues[item.place];
  const track = raw[4].find((one) => one[0] === system);
  const word = (place) => corpus.texts[place];
  const entry = (place) => {
    const [service, slot, ...values] = corpus.entries[place];
    return { place, service: word(service), slot: word(slot), values: values.map(word) };
  };
  const answers = new Map((track ? track[2] : []).map((answer) => [answer[0], answer]));
  let turnAt = 0;
  let before = new Set();
  const lines = raw[3].map(([speaker, text, number, index, state]) => {
    const line = { speaker, text, number, index };
    if (number >= 0) {
      const turn = track && track[1].length ? track[1][turnAt] : undefined;
      turnAt += 1;
      line.gold = state.map((place) => ({ ...entry(place), fresh: !before.has(place) }));
      before = new Set(state);
      if (turn !== undefined) line.tracked = tracked(turn, number, line.gold);
    }
    const answer = answers.get(index);
    if (answer) line.answer = { text: answer[1], acts: answer[2].map(act), candidates: (answer[3] || []).map(candidate) };
    return line;
  });
  return { item, system, lines, services: raw[2].map(word) };

  function tracked(turn, number, gold) {
    const name = verdict(turn, number);
    const found = { verdict: name, units: [], faults: [], predicted: gold, missing: false };
    if (!turn) return found;
    const [predicted, units, faults] = turn;
    found.missing = predicted === null && units.length > 0 && !faults.some((fault) => word(fault[0]) === "");
    if (predicted) {
      const lacking = new Set(predicted[1]);
      found.predicted = [...gold.filter((one) => !lacking.has(one.place)), ...predicted[0].map(entry)];
    } else found.predicted = [];
    found.units = units.map(([service, joint, blamed]) => ({
      service: service < 0 ? "" : word(service),
      joint,
      blamed,
    }));
    found.faults = faults.map(([service, slot, kind, since, score]) => {
      const name = { service: word(service), slot: word(slot) };
      const same = (one) => one.service === name.service && one.slot === name.slot;
      return {
        ...name,
        kind: corpus.kinds[kind],
        since,
        score,
        gold: gold.find(same),
        pred: found.predicted.find(same),
      };
    });
    return found;
  }

  function candidate([text, score, fidelity, system, points]) {
    return { text: word(text), score, fidelity, system: word(system), points: points.map(point) };
  }

  function point([name, slot, values, faithful, reference, chances, context, present]) {
    return {
      name: word(name),
      slot: word(slot),
      values: values.map(word),
      faithful,
      reference: word(reference),
      chances,
      context,
      present,
    };
  }

  function act([service, name, slot, values, missed, entailed, reference, plain, augmented, excluded]) {
    return {
      service: word(service),
      name: word(name),
      slot: word(slot),
      values: values.map(word),
      missed: missed.map(word),
      entailed,
      reference,
      plain,
      augmented,
      excluded,
    };
  }
}

// Longest common run of words, as two lists of [text, changed]. Space before a full stop is no difference.
function wordDifference(a, b) {
  const cut = (text) =>
    [...text.matchAll(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)].map((found) => [
      found[0],
      found[0] + (/\s/.test(text[found.index + found[0].length] || "") ? " " : ""),
    ]);
  const [left, right] = [cut(a), cut(b)];
  const [x, y] = [left, right].map((side) => side.map((pair) => pair[0]));
  const table = Array.from({ length: x.length + 1 }, () => new Uint16Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      table[i][j] = x[i] === y[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const [ours, theirs] = [[], []];
  const add = (list, [, text], changed) =>
    list.length && list.at(-1)[1] === changed ? (list.at(-1)[0] += text) : list.push([text, changed]);
  let i = 0,
    j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      add(ours, left[i++], false);
      add(theirs, right[j++], false);
    } else if (j >= y.length || (i < x.length && table[i + 1][j] >= table[i][j + 1])) add(ours, left[i++], true);
    else add(theirs, right[j++], true);
  }
  return [ours, theirs];
}
