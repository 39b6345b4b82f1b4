"""Small files of every format of grounded responses, made up in the datasets' layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BEGIN = (
    "model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label\r\n"
    't5\twow\tCrayola makes "crayons.\tWho makes crayons?\tCrayola does.\tFully attributable\r\n'
    "gpt2\twow\tEarly skis were long.\tIs it scary?\tYes, very.\tGeneric\r\n"
    "gpt2\ttc\tEarly skis were long.\t\tThey were short.\tNot fully attributable\r\n"
)
CSV = (
    "evidence,history,response,BEGIN,VRM\n"
    '"Crayola, of Easton, makes crayons.",Who?,Crayola does.,Entailment,Edification\n'
    ",,,,\n"
    '"Early skis\nwere long.",,"They were ""short"".",Partial Hallucination,\n'
    "Early skis were long.,Hm.,Good.,,\n"
)
JSONL: list[dict[str, Any]] = [
    {
        "id": "a1", "document": "Crayola makes crayons.", "history": ["Hi.", "Who?"], "response": "Crayola.",
        "label": 1, "source": "us", "meta": {"any": 1},
    },
    {"id": "a2", "document": ["Skis are long.", "Or short."], "response": "They are."},
]  # fmt: skip
CHAT: list[dict[str, Any]] = [
    {
        "id": "c1",
        "messages": [
            {"role": "system", "content": "Answer from the passages."},
            {"role": "assistant", "content": "Hello!"},
            {"role": "user", "content": "Who makes crayons?"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
            {"role": "tool", "content": "Crayola makes crayons."},
            {"role": "tool", "content": [{"type": "text", "text": "In Easton."}]},
            {"role": "assistant", "content": "Crayola, in Easton.", "label": 1},
            {"role": "user", "content": "Really?"},
            {"role": "assistant", "content": "Yes."},
            {"role": "context", "content": "Skis are long."},
            {"role": "assistant", "content": "Skis are short.", "label": 0},
        ],
    },
    {
        "messages": [
            {"role": "system", "content": "Skis are long."},
            {"role": "user", "content": "Are they?"},
            {"role": "assistant", "content": "They are."},
        ]
    },
]
FAITHDIAL: list[dict[str, Any]] = [
    {
        "dialog_idx": 7,
        "utterances": [
            {
                "history": ["Tell me of concerts."], "speaker": "Wizard", "knowledge": "It began in Montreal.",
                "original_response": "It began in 2015. Can you imagine?", "response": "In Montreal.",
                "BEGIN": ["Hallucination", "Entailment"], "VRM": ["Disclosure"],
            },
            {
                "history": ["Tell me of concerts.", "In Montreal.", "And?"], "speaker": "Wizard",
                "knowledge": "It ended in Sydney.", "original_response": None, "response": "It ended in Sydney.",
                "BEGIN": ["Entailment"], "VRM": ["Edification"],
            },
        ],
    }
]  # fmt: skip
WOW: list[dict[str, Any]] = [
    {
        "chosen_topic": "Crayola",
        "persona": "i draw.",
        "wizard_eval": 5,
        "dialog": [
            {"speaker": "0_Wizard", "text": "Hi!", "checked_sentence": {"no_passages_used": "no_passages_used"}},
            {"speaker": "1_Apprentice", "text": "Who makes crayons?", "retrieved_topics": ["Crayola"]},
            {
                "speaker": "0_Wizard", "text": "Crayola does.", "checked_passage": {"x": "Crayola"},
                "checked_sentence": {"partner_Crayola_0": "Crayola makes crayons."},
            },
        ],
    }
]  # fmt: skip
MULTIDOC2DIAL: dict[str, Any] = {
    "dial_data": {
        "dmv": [
            {
                "dial_id": "d1",
                "turns": [
                    {"turn_id": 1, "role": "user", "da": "query", "references": [], "utterance": "I lost my plates."},
                    {
                        "turn_id": 2, "role": "agent", "da": "respond", "utterance": "Report it.",
                        "references": [
                            {"label": "solution", "id_sp": "2", "doc_id": "Plates#1"},
                            {"label": "solution", "id_sp": "1", "doc_id": "Plates#1"},
                            {"label": "solution", "id_sp": "10", "doc_id": "Plates#1"},
                        ],
                    },
                    {"turn_id": 3, "role": "agent", "da": "respond", "references": [], "utterance": "Nothing found."},
                ],
            }
        ]
    }
}  # fmt: skip
MULTIDOC2DIAL_DOC: dict[str, Any] = {
    "doc_data": {
        "dmv": {
            "Plates#1": {
                "doc_id": "Plates#1",
                "doc_text": "…",
                "spans": {
                    "10": {"id_sp": "10", "text_sp": "Bring a card. ", "title": "What to bring"},
                    "1": {"id_sp": "1", "text_sp": "Go to the police. ", "title": "Lost plates"},
                    "2": {"id_sp": "2", "text_sp": "Then report it. ", "title": "Lost plates"},
                    "3": {"id_sp": "3", "text_sp": "You may drive. ", "title": "Meanwhile"},
                },
            }
        }
    }
}
TOPICAL_CHAT: dict[str, Any] = {
    "t_1": {
        "article_url": "https://example.org/a",
        "config": "A",
        "content": [
            {"message": "Hi!", "agent": "agent_1", "knowledge_source": ["FS1"]},
            {"message": "Football?", "agent": "agent_2", "knowledge_source": ["FS1", "AS1", "FS9"]},
            {"message": "I like it.", "agent": "agent_1", "knowledge_source": ["FS1", "Personal Knowledge"]},
            {"message": "Pink!", "agent": "agent_2", "knowledge_source": ["FS2"]},
        ],
    }
}
READING: dict[str, Any] = {
    "t_1": {
        "config": "A",
        "agent_1": {"FS1": {"entity": "Ball", "shortened_wiki_lead_section": "A ball.", "fun_facts": []}},
        "agent_2": {
            "FS1": {"entity": "Football", "summarized_wiki_lead_section": 17, "fun_facts": ["It is old", "t3_42gqyk"]},
            "FS2": {"entity": "Pink", "shortened_wiki_lead_section": 18, "fun_facts": ["t3_1fvxyw"]},
        },
        "article": {"url": "https://example.org/a", "AS1": "The game was close! "},
    }
}
WIKI: dict[str, Any] = {
    "shortened_wiki_lead_section": {"A color.": 18},
    "summarized_wiki_lead_section": {"A game with a ball.": 17},
}


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


SAMPLES: dict[str, tuple[str, bytes, int]] = {  # format to file name, content and how many records it holds
    "begin": ("b.tsv", BEGIN.encode(), 3),
    "csv": ("a.csv", CSV.encode(), 3),
    "jsonl": ("r.jsonl", lines(JSONL), 2),
    "chat": ("c.jsonl", lines(CHAT), 4),
    "faithdial": ("f.json", json.dumps(FAITHDIAL).encode(), 2),
    "wow": ("w.json", json.dumps(WOW, indent=1).encode(), 2),
    "multidoc2dial": ("multidoc2dial_dial_dev.json", json.dumps(MULTIDOC2DIAL, indent=1).encode(), 2),
    "topical-chat": ("conversations_dev.json", json.dumps(TOPICAL_CHAT, indent=1).encode(), 2),
}


def lay(folder: Path, name: str) -> Path:
    """A sample on disk, with what lies beside it."""
    file, data, _ = SAMPLES[name]
    path = folder / file
    path.write_bytes(data)
    if name == "multidoc2dial":
        (folder / "multidoc2dial_doc.json").write_text(json.dumps(MULTIDOC2DIAL_DOC))
    if name == "topical-chat":
        (folder / "reading_dev.json").write_text(json.dumps(READING))
    return path
