"""Every public name has a docstring with an example, and every public method is explained and shown.

That the examples run is tested in tests/unit/test_examples.py.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator

import maxmargin
from maxmargin import datasets, errors, losses

# What users import, with the place it is in.
PUBLIC = {
    f"{place.__name__}.{name}": getattr(place, name)
    for place in (maxmargin, datasets, errors, losses)
    for name in place.__all__
    if name != "LOSSES"  # the table, a dictionary
}
CLASSES = [name for name in maxmargin.__all__ if inspect.isclass(getattr(maxmargin, name))]

# Methods that need no example, and why.
NEED_NO_EXAMPLE = {
    "calibration_warning": "what the estimators say when they warn",
    "draw": "a panel of the grid of several λ",
    "formula": "a step rule as the compiled loops take it",
    "from_fields": "how a model file is read",
    "get_metadata_routing": "asked by scikit-learn",
    "is_enough": "asked by a descent at every step",
    "landscape": "what pictures of a descent draw",
    "length": "asked by a descent at every step",
    "of": "a display that is not drawn yet, for the grid of several λ",
    "plot": "each from_… draws, and takes the same settings",
    "to_fields": "how a model file is written",
    "why_no_probabilities": "what the estimators say when they warn",
}


def examples(text: str | None) -> str:
    """Return the code of a docstring's examples."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text or ""))


def own_methods(public: type) -> Iterator[str]:
    """Return the names of the public methods and properties that this package defines.

    The set_…_request are scikit-learn's, which writes them into every estimator.
    """
    for name in dir(public):
        owner = next((base for base in public.__mro__ if name in vars(base)), object)
        member = vars(owner).get(name)
        is_method = inspect.isroutine(member) or isinstance(member, property)
        is_hidden = name.startswith("_") or (name.startswith("set_") and name.endswith("_request"))
        if is_method and not is_hidden and owner.__module__.startswith("maxmargin."):
            yield name


def is_shown(public: type, method: str) -> bool:
    """Return whether an example of the method, of its class or of a base of that uses it."""
    texts = [inspect.getdoc(getattr(public, method)), *(base.__doc__ for base in public.__mro__)]
    uses = f".{method}"
    if method.startswith("from_"):  # of several ways to make one, one is enough
        uses = ".from_"
    return bool(examples(texts[0])) or any(uses in examples(text) for text in texts[1:])


def test_public_names_have_examples() -> None:
    assert [name for name, public in PUBLIC.items() if not examples(public.__doc__)] == []


def test_public_methods_are_explained_and_shown() -> None:
    methods = [
        (getattr(maxmargin, name), method)
        for name in CLASSES
        for method in own_methods(getattr(maxmargin, name))
    ]
    assert [found for found in methods if not inspect.getdoc(getattr(*found))] == []
    needed = [found for found in methods if found[1] not in NEED_NO_EXAMPLE]
    assert [found for found in needed if not is_shown(*found)] == []


def test_methods_without_an_example_exist() -> None:
    known = {method for name in CLASSES for method in own_methods(getattr(maxmargin, name))}
    assert NEED_NO_EXAMPLE.keys() <= known


def test_a_method_that_no_example_uses_is_noticed() -> None:
    class Shown:
        """Has an example.

        >>> Shown().used()
        """

        def used(self) -> None:
            """Do something."""

        def unused(self) -> None:
            """Do something else."""

    assert is_shown(Shown, "used")
    assert not is_shown(Shown, "unused")
