"""The library's settings as the command line writes them, for messages that name one."""

from __future__ import annotations

import re

__all__ = ["as_options"]

# Settings of `load_data` that messages name, and the options that set them.
OPTIONS = {
    "label": "--label",
    "weight": "--weight",
    "missing": "--missing",
    "drop": "--drop",
    "categories": "--category",
    "unknown": "--unknown",
    "format": "--format",
    "n_columns": "--n-columns",
    "zero_based": "--zero-based",
    "header": "--header",
    "memory": "--memory",
}
SETTING = re.compile(
    rf"(?<![-\w])(?P<name>{'|'.join(OPTIONS)})=(?:\[(?P<listed>\"[^\"]*\")\]|\"(?P<word>[^\"]*)\"|(?P<open>…?))"
)


def as_options(message: str) -> str:
    """Return a message with the settings of `load_data` written as options.

    Examples
    --------
    >>> as_options('drop=["name"] leaves it out, categories=["name"] takes it as categories')
    '--drop "name" leaves it out, --category "name" takes it as categories'
    >>> as_options('label="kin": t.csv has no such column'), as_options("say which by label=…")
    ('--label kin: t.csv has no such column', 'say which by --label')
    >>> as_options('missing="median" replaces it')
    '--missing median replaces it'
    >>> as_options("label=7: t.csv has the columns 0 to 2")
    '--label 7: t.csv has the columns 0 to 2'
    """

    def option(found: re.Match[str]) -> str:
        value = found["listed"] or found["word"] or ""
        follows = message[found.end() : found.end() + 1]
        gap = " " if value or follows.isalnum() or follows == "-" else ""
        return f"{OPTIONS[found['name']]}{gap}{value}"

    return SETTING.sub(option, message)
