"""Groups that scores are given for besides `all`: `seen`, `unseen`, `service:Hotels_2`, `domain:Hotels`, `slot:…`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from troth.core.errors import UserError, near
from troth.core.names import listed

WHOLE = ("all", "seen", "unseen", "seen_domain", "unseen_domain")  # seen and unseen without more: services


def chosen(by: str | Iterable[str] | None, known: Sequence[str], *, train_schema: object = None) -> tuple[str, ...]:
    """The groups that are asked for, checked; seen and unseen come with the training services."""
    groups = listed(by)
    for name in groups:
        if name not in known:
            raise UserError(f"cannot group by '{name}'", hint=near(name, known) or "one of: " + ", ".join(known))
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
