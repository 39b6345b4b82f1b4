"""Digests of the content of files, whatever their names and their order are."""

from __future__ import annotations

import hashlib

from troth.core.digest import digest
from troth.readers import source


def content_digest(path: str) -> str:
    """The digest of all documents under a path: a file, a folder, a glob, an archive or an address."""
    return digest(hashlib.sha256(document.data).hexdigest() for document in source.documents(path))
