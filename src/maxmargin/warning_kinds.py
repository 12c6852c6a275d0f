"""Everything maxmargin warns about; users import it from `maxmargin.errors`, where the tree is drawn."""

from __future__ import annotations

__all__ = [
    "CacheWarning",
    "CalibrationWarning",
    "ClusterWarning",
    "ConvergenceWarning",
    "LeaveOneOutWarning",
    "MissingClassWarning",
    "SkippedLines",
]


class CacheWarning(UserWarning):
    r"""A binary copy of a file is damaged or could not be kept; the file itself was read instead.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import CacheWarning, load_data
    >>> with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     source = Path(folder) / "two.svm"
    ...     _ = source.write_text("+1 1:0.5\n-1 1:2\n")
    ...     _ = Path(folder, "two.svm.maxmargin-cache").write_text("something else")
    ...     data = load_data(source, cache=True)
    >>> data.n_rows, [warning.category is CacheWarning for warning in caught]
    (2, [True])
    """


class CalibrationWarning(UserWarning):
    """Probabilities were asked for and could not be fitted; the model predicts without them.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import CalibrationWarning, LinearSVM
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVM(calibrate="sigmoid").fit([[0.0], [1.0]], [-1, 1])
    >>> issubclass(caught[0].category, CalibrationWarning), hasattr(model, "predict_proba")
    (True, False)
    """


class ClusterWarning(UserWarning):
    """Something about the workers of a cluster: little memory, different processors, a slow or silent one.

    Examples
    --------
    >>> from maxmargin import errors
    >>> issubclass(errors.ClusterWarning, UserWarning)
    True
    """


class ConvergenceWarning(UserWarning):
    """The certified gap is above the tolerance asked for; the message says by how much.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import ConvergenceWarning, LinearSVM
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVM(max_iter=1).fit([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> issubclass(caught[0].category, ConvergenceWarning), model.certificate_.relative_gap > model.tol
    (True, True)
    """


class LeaveOneOutWarning(UserWarning):
    """Leave-one-out errors say little about new examples; the message says why.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import LeaveOneOutWarning, LinearSVM, leave_one_out
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = leave_one_out(LinearSVM(C=1e-3), [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> issubclass(caught[0].category, LeaveOneOutWarning), found.is_meaningful
    (True, False)
    """


class MissingClassWarning(UserWarning):
    """There was no row of some class to learn from: weights of 0, or a split, took them all.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import LinearSVMCV, MissingClassWarning
    >>> from sklearn.model_selection import KFold
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 1, 2, 2]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVMCV(Cs=[1.0], cv=KFold(3)).fit(X, y)
    >>> [warning.category is MissingClassWarning for warning in caught], model.best_score_
    ([True], 0.0)
    """


class SkippedLines(UserWarning):
    r"""Lines of a file could not be read and were left out, as `skip_bad_lines` asks for.

    Parameters
    ----------
    message : str
        Which file, how many lines, and what is wrong with the first.
    n_lines : int
        How many lines.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_data
    >>> with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     path = Path(folder) / "some.svm"
    ...     _ = path.write_text("+1 1:0.5\n-1 1:?\n-1 2:1\n")
    ...     data = load_data(path, skip_bad_lines=True)
    >>> data.n_rows, caught[0].message.n_lines
    (2, 1)
    """

    def __init__(self, message: str, n_lines: int = 0) -> None:
        # Both are kept in `args`, which is what pickle hands back to this constructor.
        super().__init__(message, n_lines)
        self.n_lines = n_lines

    def __str__(self) -> str:
        return str(self.args[0])
