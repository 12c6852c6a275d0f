"""What the online estimators' docstrings have in common, written once."""

from __future__ import annotations

from maxmargin.estimators.shared_text import filled_with

__all__ = ["with_online_text"]

TEXTS = {
    "shuffle": """
shuffle : bool or "draws"
    The order of the examples. False: as they stand. True: a new random order of all rows in every pass.
    (Beyond 1,024 rows groups of 16 neighbours are drawn at random and mixed, 64 groups at a time: rows that
    lie near each other are read faster.) "draws": each example is drawn at random from all rows, with
    replacement; a pass is then as many draws as there are rows.
""",
    "random_state": """
random_state : int, Generator or RandomState, optional
    The order in which examples come; by default one fixed order.
""",
    "trace": """
trace : bool, default False
    Keep every step in ``trace_``, and a copy of the rows, on which steps are repeated. It costs nothing when
    off.
""",
    "attributes": """
stopped_ : str
    Why it ended, in words.
n_draws_, n_updates_ : int
    Examples looked at, and examples that moved the weights, in the last call; summed over the classes.
n_passes_ : int
    Passes over the rows that were begun; the most of the classes.
trace_ : Trace, or a list with one per class for more than two
    Every step, with trace=True: ``frame()``, ``weights(t)``, ``explain(t)``. After partial_fit, of the last
    call.
coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    The weights θ; with two classes the second is the positive one, more are one against the rest.
intercept_ : array of shape (1,) or (n_classes,)
classes_ : array
margin_ : array of shape (1,) or (n_classes,)
    1/‖θ‖; inf at θ = 0.
n_features_in_ : int
feature_names_in_ : array of str
    Where X had names.
""",
    "streaming": """
``partial_fit`` makes one pass over the rows that it is given and goes on from the weights, the step count and
the averages of the call before. The classes are fixed by its first call.

``fit`` over batches is just that, pass after pass; the order of examples is that of `shuffle` within each
batch. What takes all rows (the best weights so far, a certificate) reads the batches once more, and is not
there for a generator, which is read only once.

There is no ``sample_weight`` and no ``class_weight``: a weight means repetition here, and what repeating an
example does depends on when the repetitions come. Repeat the rows instead.
""",
}

with_online_text = filled_with(TEXTS)
