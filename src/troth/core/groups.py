"""Groups that scores are given for besides `all`: `seen`, `unseen`, `service:Hotels_2`, `domain:Hotels`, `slot:…`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from troth.core.errors import UserError, suggest_name
from troth.core.names import parse_names


class Group(str):
    """A group of units that scores are given for: its kind, and the name of one group of that kind.

    It is stored, printed and compared as its text, `all`, `seen` or `service:Hotels_2`; code asks for `kind` and
    `name`, which keep a name with a colon whole.
    """

    __slots__ = ("kind", "name")
    kind: str
    name: str  # empty for `all`, `seen`, `unseen`, …

    def __new__(cls, kind: str, name: str = "") -> Group:
        group = super().__new__(cls, f"{kind}:{name}" if name else kind)
        group.kind, group.name = kind, name
        return group

    def __reduce__(self) -> tuple[type[Group], tuple[str, str]]:
        return Group, (self.kind, self.name)

    @classmethod
    def parse(cls, text: str) -> Group:
        """The group of a text, as files and users write it."""
        if isinstance(text, cls):
            return text
        kind, _, name = text.partition(":")
        return cls(kind, name)


ALL, SEEN, UNSEEN = Group("all"), Group("seen"), Group("unseen")
WHOLE = (ALL, SEEN, UNSEEN, Group("seen_domain"), Group("unseen_domain"))  # groups without a name of their own


def parse_groups(
    by: str | Iterable[str] | None, known: Sequence[str], *, train_schema: object = None
) -> tuple[str, ...]:
    """The requested kinds of groups, checked; seen and unseen come with the training services."""
    groups = parse_names(by)
    for name in groups:
        if name not in known:
            raise UserError(
                f"cannot group by '{name}'", hint=suggest_name(name, known) or "one of: " + ", ".join(known)
            )
    if "seen" in groups and train_schema is None:
        raise UserError("seen and unseen need the training services", hint="give the training schema")
    return ("seen", *groups) if train_schema is not None and "seen" not in groups else tuple(groups)


def domain(service: str) -> str:
    """`Hotels` of the service `Hotels_2`; a service without a number is its own domain."""
    name, _, number = service.rpartition("_")
    return name if name and number.isdigit() else service


def fingerprint(names: Iterable[str]) -> str:
    """A short hash of a set of names, such as the training services, for signatures."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:8]
