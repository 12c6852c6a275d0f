"""The library's settings as the command line writes them, for messages that name one."""

from __future__ import annotations

import re
from collections.abc import Container

__all__ = ["as_options"]

# Settings of the library that messages name, and the options that set them.
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
    "loss": "--loss",
    "calibrate": "--calibrate",
    "cache": "--cache-folder",
    "C": "--C",
    "Cs": "--Cs",
    "lam": "--lam",
    "tol": "--tol",
    "solver": "--solver",
    "max_iter": "--max-iter",
    "max_time": "--max-time",
    "n_jobs": "--jobs",
    "class_weight": "--class-weight",
    "intercept_scaling": "--intercept-scaling",
}
PARAMETER_NAMES = "|".join(OPTIONS)
SETTING = re.compile(
    rf"(?<![-\w])(?P<name>{PARAMETER_NAMES})="
    r"(?:\[(?P<listed>\"[^\"]*\")\]|\"(?P<word>[^\"]*)\"|"
    r"(?P<several>'[^']*'(?:(?:, | or )'[^']*')*)|(?P<truth>True|False)\b|(?P<open>…?))"
)
ADVICE = re.compile(rf"; give (?P<name>{PARAMETER_NAMES})=… if that is meant")
RULE = re.compile(rf"(?P<name>{PARAMETER_NAMES}) (?P<rule>(?:must|cannot) be .*|is for .*)", re.DOTALL)


def as_options(message: str, known: Container[str] | None = None) -> str:
    """Return a message with the library's settings written as options.

    Parameters
    ----------
    message : str
    known : container of str, optional
        The settings for which the command has an option; advice to give another is left out.

    Examples
    --------
    >>> as_options('drop=["name"] leaves it out, categories=["name"] takes it as categories')
    '--drop "name" leaves it out, --category "name" takes it as categories'
    >>> as_options('label="kin": t.csv has no such column'), as_options("say which by label=…")
    ('--label kin: t.csv has no such column', 'say which by --label')
    >>> as_options('missing="median" replaces it')
    '--missing median replaces it'
    >>> as_options("loss='logistic', or calibrate='sigmoid', 'temperature' or 'isotonic'")
    '--loss logistic, or --calibrate sigmoid, temperature or isotonic'
    >>> as_options("label=7: t.csv has the columns 0 to 2")
    '--label 7: t.csv has the columns 0 to 2'
    >>> as_options("max_time must be a positive number or None; got max_time=-1.0")
    '--max-time must be a positive number; got -1.0'
    """
    if known is not None:
        message = ADVICE.sub(lambda found: found[0] if found["name"] in known else "", message)
    rule = RULE.fullmatch(message)
    if rule is not None:
        told = rule["rule"].replace(f"got {rule['name']}=", "got ")
        told = told.replace(" or None", "").replace("be None or ", "be ")
        message = f"{OPTIONS[rule['name']]} {told}"
    # In the library the table may be any; here it is always the one that a model was trained on.
    return SETTING.sub(_option, message.replace("the earlier table", "the training table"))


def _option(found: re.Match[str]) -> str:
    value = found["listed"] or found["word"] or (found["several"] or "").replace("'", "")
    if found["truth"]:
        value = "yes" if found["truth"] == "True" else "no"
    follows = found.string[found.end() : found.end() + 1]
    gap = " " if value or follows.isalnum() or follows == "-" else ""
    return f"{OPTIONS[found['name']]}{gap}{value}"
