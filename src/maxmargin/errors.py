"""Everything maxmargin raises or warns about.

::

    Exception
    └── MaxMarginError                     anything this package refuses
        ├── InvalidInput (ValueError)      data that cannot be used: shapes, NaN, labels, weights
        │   ├── UnreadableFile (OSError)   a folder, a file without permission, a failing disk
        │   │   └── MissingFile (FileNotFoundError)
        │   └── FileFormatError            a file whose content is wrong: path, line, column
        │       └── ModelFileError         … and which should be a model
        ├── InvalidParameter (ValueError)  a setting outside its range, or two that exclude each other
        ├── NoFiniteOptimum (ValueError)   the objective has no minimum; carries the direction
        ├── NotSeparable (ValueError)      no hyperplane separates the classes; carries the proof
        └── RowsLost                       rows on a cluster that no longer responds; carries the best model
    KeyboardInterrupt
    └── Interrupted                        Ctrl-C during `train`; carries the best model so far
    UserWarning
    └── MaxMarginWarning                   anything this package warns about
        ├── CacheWarning                   a binary copy of a file could not be used or kept
        ├── CalibrationWarning             probabilities were asked for and could not be fitted
        ├── ChangedDefaultWarning          a default is another one than in the release before
        ├── ClusterWarning                 little memory, different processors, a slow or silent worker
        ├── ConvergenceWarning             the certified gap is above the tolerance asked for
        ├── DegenerateModelWarning         θ = 0, or classes that no row is predicted to be
        ├── LeaveOneOutWarning             leave-one-out says little about new examples here
        ├── MissingClassWarning            weights of 0, or a split, took all rows of some class
        └── SkippedLines                   lines of a file that could not be read were skipped

The built-in class in brackets is a second base, so that code which knows nothing of maxmargin
(``except ValueError``, ``except FileNotFoundError``) still catches the error.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import Any, NamedTuple, Self

__all__ = [
    "CacheWarning",
    "CalibrationWarning",
    "ChangedDefaultWarning",
    "ClusterWarning",
    "ConvergenceWarning",
    "DegenerateModelWarning",
    "FileFormatError",
    "Interrupted",
    "InvalidInput",
    "InvalidParameter",
    "LeaveOneOutWarning",
    "MaxMarginError",
    "MaxMarginWarning",
    "Message",
    "MissingClassWarning",
    "MissingFile",
    "ModelFileError",
    "NoFiniteOptimum",
    "NotSeparable",
    "RowsLost",
    "Setting",
    "SkippedLines",
    "UnreadableFile",
]


class Setting(NamedTuple):
    """A parameter that a message names, alone or with a value; how it is spelled, the front end decides.

    Examples
    --------
    >>> str(Setting("C")), str(Setting("C", -1.0)), str(Setting("label", ...))
    ('C', 'C=-1.0', 'label=…')
    """

    name: str
    value: Any = NotImplemented  # none: the name alone; ...: a value for the user to choose
    text: str = ""  # the value in Python, where its repr is not what the message shows

    def __str__(self) -> str:
        """Return the setting as Python spells it."""
        if self.value is NotImplemented:
            return self.name
        return f"{self.name}={'…' if self.value is ... else self.text or repr(self.value)}"


# What the messages about problems without a regulariser name.
UNREGULARISED: Mapping[str, Any] = {"C": Setting("C", float("inf")), "lam": Setting("lam", 0)}


class Message:
    """What errors and warnings have in common: a message, and the parameters that it is about as fields.

    Each front end writes the parameters as its users do: ``max_time=5`` in Python, ``--max-time 5`` on the
    command line.

    Parameters
    ----------
    *args
        The message, and for some errors more. In the message, and in the remedy, ``{parameter}`` stands for
        the parameter's name, ``{setting}`` for the parameter with its value, ``{or_none}`` for the remark
        that None would do as well, and the name of a further setting for that one.
    parameter : str, optional
        The parameter whose value is the cause.
    value : object, optional
        Its value.
    remedy : str or tuple of str, optional
        What to do instead; the message ends with it. Of several sentences, a front end leaves out those that
        name a setting it does not have.
    **settings : Setting
        Further parameters that the message and the remedy name.

    Attributes
    ----------
    parameter : str or None
    value : object or None
    remedy : str or None

    Examples
    --------
    >>> error = InvalidParameter("{setting} is too short", parameter="max_time", value=0.1, remedy="raise it")
    >>> str(error), error.remedy, error.render_remedy()
    ('max_time=0.1 is too short; raise it', 'raise it', 'raise it')
    >>> error.render(lambda setting: f"--{setting.name} {setting.value}")
    '--max_time 0.1 is too short; raise it'
    >>> print(error.with_remedy("leave it out"))
    max_time=0.1 is too short; leave it out
    """

    # Defaults of the class: pickle makes an error of its `args` alone and adds the rest afterwards.
    args: tuple[Any, ...]
    parameter: str | None = None
    value: Any = None
    _template: str | None = None
    _remedies: tuple[str, ...] = ()
    _settings: Mapping[str, Setting] = MappingProxyType({})

    def __init__(
        self,
        *args: Any,
        parameter: str | None = None,
        value: Any = NotImplemented,
        remedy: str | tuple[str, ...] = (),
        **settings: Setting,
    ) -> None:
        super().__init__(*args)
        if parameter is not None:
            self.parameter = parameter
            settings["parameter"] = Setting(parameter)
            settings.setdefault("setting", Setting(parameter, value))
        if value is not NotImplemented:
            self.value = value
        if remedy:
            self._remedies = (remedy,) if isinstance(remedy, str) else remedy
        if settings:
            self._settings = settings
        if settings or remedy:
            self._template = str(args[0])
            self.args = (Message.render(self), *args[1:])  # as others print it

    @property
    def remedy(self) -> str | None:
        """What to do instead, if the message says so."""
        return self.render_remedy()

    def __str__(self) -> str:
        return self.render()

    def render(
        self,
        spell: Callable[[Setting], str] = str,
        has: Callable[[Setting], bool] = lambda setting: True,
        or_none: str = " or None",
    ) -> str:
        """Return the message in the words of a front end.

        Parameters
        ----------
        spell : callable
            Returns a `Setting` as the users of the front end write it.
        has : callable
            Returns whether they can give it here: a remedy that names a setting they cannot give is left out.
        or_none : str
            What ``{or_none}`` becomes.
        """
        if self._template is None:
            return self._text()
        message = self._fill(self._template, spell).replace("{or_none}", or_none)
        remedy = self.render_remedy(spell, has)
        return message if remedy is None else f"{message}{' ' if message[-1:] in '.?' else '; '}{remedy}"

    def render_remedy(
        self,
        spell: Callable[[Setting], str] = str,
        has: Callable[[Setting], bool] = lambda setting: True,
    ) -> str | None:
        """Return the remedy in the words of a front end, None if there is none; parameters as in `render`."""
        given = [remedy for remedy in self._remedies if all(map(has, self._named_in(remedy).values()))]
        return " ".join(self._fill(remedy, spell) for remedy in given) or None

    def with_remedy(self, remedy: str, **settings: Setting) -> Self:
        """Return the same error or warning with another remedy, and the settings that it names."""
        changed = self._copied()
        changed._template = self.args[0] if self._template is None else self._template
        changed._remedies, changed._settings = (remedy,), {**self._settings, **settings}
        changed.args = (Message.render(changed), *self.args[1:])
        return changed

    def _copied(self) -> Self:
        """Return a copy; `copy.copy` would share the attributes once tblib, which Dask imports, is loaded."""
        copied = type(self).__new__(type(self), *self.args)
        copied.args = self.args
        copied.__dict__.update(self.__dict__)
        return copied

    def _text(self) -> str:
        """Return a message that names no setting."""
        return super().__str__()

    def _named_in(self, template: str) -> dict[str, Setting]:
        """Return the settings that a template names."""
        return {name: one for name, one in self._settings.items() if f"{{{name}}}" in template}

    def _fill(self, template: str, spell: Callable[[Setting], str]) -> str:
        """Return a template with the settings that it names; other braces stay as they are."""
        for name, setting in self._named_in(template).items():
            template = template.replace(f"{{{name}}}", spell(setting))
        return template


class MaxMarginError(Message, Exception):
    """Anything this package refuses to do; the message says what to change.

    Parameters and attributes are those of `Message`.

    Examples
    --------
    >>> from maxmargin import LinearSVM, errors
    >>> try:
    ...     LinearSVM(C=-1).fit([[0.0], [1.0]], [0, 1])
    ... except errors.MaxMarginError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ...     print(error.parameter, error.value)
    InvalidParameter True
    C -1
    """


class InvalidInput(MaxMarginError, ValueError):
    """Data that cannot be used: wrong shape, NaN, unknown labels, negative weights.

    Examples
    --------
    >>> from maxmargin import LinearSVM, errors
    >>> try:
    ...     LinearSVM().fit([[0.0], [float("nan")]], [0, 1])
    ... except errors.InvalidInput as error:
    ...     print(error)
    X contains NaN: row 1, column 0 (counted from 0). Remove or impute such values.
    """


class UnreadableFile(InvalidInput, OSError):
    """A path that cannot be read or written: a folder, no permission, a failing disk.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_data
    >>> from maxmargin.errors import UnreadableFile
    >>> with TemporaryDirectory() as folder:
    ...     try:
    ...         load_data(folder)
    ...     except UnreadableFile as error:
    ...         print(str(error).replace(folder, "this"))
    this is a folder; a file is expected
    """

    def __new__(cls, *arguments: Any, **fields: Any) -> UnreadableFile:
        # Of the two built-in bases only OSError can make one; tools that pickle errors ask for this method.
        return OSError.__new__(cls, *arguments)


class MissingFile(UnreadableFile, FileNotFoundError):
    """A path at which there is no file.

    Examples
    --------
    >>> from maxmargin import load_data
    >>> try:
    ...     load_data("nowhere.svm")
    ... except FileNotFoundError as error:
    ...     print(error)
    nowhere.svm: no such file
    """


class FileFormatError(InvalidInput):
    """A file whose content is not what its format demands.

    Parameters
    ----------
    message : str
        What was expected and what was found.
    path : path-like or str, optional
        The file, as the user named it.
    line, column : int, optional
        Where, both counted from 1; the column counts characters.
    **fields
        As `Message` has them.

    Examples
    --------
    >>> print(FileFormatError('expected index:value, found "3:x"', "a9a.svm", 17, 9))
    a9a.svm, line 17, column 9: expected index:value, found "3:x"
    """

    def __init__(
        self,
        message: str,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        column: int | None = None,
        **fields: Any,
    ) -> None:
        # All four are kept in `args`, which is what pickle hands back to this constructor.
        super().__init__(message, path, line, column, **fields)
        self.path = path
        self.line = line
        self.column = column

    @property
    def message(self) -> str:
        """What was expected and what was found, without the place."""
        return str(self.args[0])

    def render(
        self,
        spell: Callable[[Setting], str] = str,
        has: Callable[[Setting], bool] = lambda setting: True,
        or_none: str = " or None",
    ) -> str:
        """Return the place and the message in the words of a front end."""
        message = super().render(spell, has, or_none)
        place = [] if self.path is None else [os.fspath(self.path)]
        if self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {self.column}")
        return f"{', '.join(place)}: {message}" if place else message

    def _text(self) -> str:
        return str(self.args[0])

    def moved_to(self, path: str | os.PathLike[str] | None, line: int | None) -> FileFormatError:
        """Return the same error at another line, or of another file."""
        moved = self._copied()
        moved.path, moved.line = path, line
        moved.args = (self.args[0], path, line, self.column)
        return moved


class ModelFileError(FileFormatError):
    """A file that should hold a model and does not, or is damaged or too new.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_model
    >>> from maxmargin.errors import ModelFileError
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.model"
    ...     _ = file.write_text("not a model")
    ...     try:
    ...         load_model(file)
    ...     except ModelFileError as error:
    ...         print(error.message)
    not a maxmargin model file
    """


class InvalidParameter(MaxMarginError, ValueError):
    """A setting outside its range, or two settings that exclude each other.

    Examples
    --------
    >>> from maxmargin import LinearSVM
    >>> from maxmargin.errors import InvalidParameter
    >>> try:
    ...     LinearSVM(C=2, lam=0.1).fit([[0.0], [1.0]], [0, 1])
    ... except InvalidParameter as error:
    ...     print(error)
    give C or lam, not both: C = 1/(lam · n) is one number; got C=2 and lam=0.1
    """

    @classmethod
    def must_be(
        cls, parameter: str, rule: str, value: Any, *, or_none: bool = False, remedy: str | None = None
    ) -> InvalidParameter:
        """Return the error of a parameter that is not what it must be.

        Examples
        --------
        >>> print(InvalidParameter.must_be("max_time", "a positive number", -1, or_none=True))
        max_time must be a positive number or None; got max_time=-1
        """
        template = f"{{parameter}} must be {rule}{'{or_none}' if or_none else ''}; got {{setting}}"
        return cls(template, parameter=parameter, value=value, remedy=remedy or ())


class NoFiniteOptimum(MaxMarginError, ValueError):
    """The objective falls for ever along one direction, so nothing can be fitted.

    No row gets worse along the direction, s(x·direction + offset) ≥ 0, and some get better without end. Up to
    100 columns that is decided in whole numbers, and `direction` and `offset` are those numbers rounded to
    floats: a row on the boundary is there but for their rounding.

    Parameters
    ----------
    message : str
        Why there is no minimum, and what to change.
    direction : array of shape (n_columns,), or (K, n_columns) for K classes at once, optional
        Weights along which the objective never stops falling.
    offset : float or array of shape (K,)
        What the offset does meanwhile.
    kind : "complete" or "quasi-complete"
        Whether every row gets better, or some stay on the boundary.
    n_separated : int
        How many rows get better; of K classes at once, how many pairs of a row and another class.

    Examples
    --------
    >>> from maxmargin import train
    >>> from maxmargin.errors import NoFiniteOptimum
    >>> try:
    ...     train([[0.0], [1.0], [1.0], [2.0]], [-1, -1, 1, 1], loss="logistic", C=float("inf"))
    ... except NoFiniteOptimum as error:
    ...     print(error.kind, error.direction, error.offset, error.n_separated)
    quasi-complete [1.] -1.0 2
    """

    def __init__(
        self,
        message: str,
        direction: Any = None,
        offset: Any = 0.0,
        kind: str = "complete",
        n_separated: int = 0,
    ) -> None:
        # All are kept in `args`, which is what pickle hands back to this constructor.
        super().__init__(message, direction, offset, kind, n_separated)
        self.message = message
        self.direction = direction
        self.offset = offset
        self.kind = kind
        self.n_separated = n_separated

    def _text(self) -> str:
        return self.message

    def about(self, what: str) -> NoFiniteOptimum:
        """Return the same error, its message about one of several problems."""
        return NoFiniteOptimum(
            f"{what}: {self.message}", self.direction, self.offset, self.kind, self.n_separated
        )


class NotSeparable(MaxMarginError, ValueError):
    """No hyperplane has every row strictly on its own side.

    Parameters
    ----------
    message : str
        Why, and what to do instead.
    separability : Separability, optional
        The proof: a combination of the rows that no hyperplane can satisfy; its `check()` goes through it.

    Examples
    --------
    >>> from maxmargin import HardMarginSVM, errors
    >>> try:
    ...     HardMarginSVM().fit([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    ... except errors.NotSeparable as error:
    ...     print(error.separability.kind, error.separability.check())
    overlapping True
    """

    def __init__(self, message: str, separability: Any = None) -> None:
        # Both are kept in `args`, which is what pickle hands back to this constructor.
        super().__init__(message, separability)
        self.message = message
        self.separability = separability

    def _text(self) -> str:
        return self.message

    def about(self, what: str) -> NotSeparable:
        """Return the same error, its message about one of several problems."""
        return NotSeparable(f"{what}: {self.message}", self.separability)


class RowsLost(MaxMarginError):
    """The rows cannot be reached: all workers of a cluster are gone, one is silent, or its scheduler is gone.

    Parameters
    ----------
    message : str
        What happened, and how good the model is.
    model : LinearModel, optional
        The best so far. Its certificates are those of the last complete certificate passes: an objective and
        a bound that were proved while the rows were there. None if the fit had not begun.
    solutions : sequence of Solution or None
        What `model` is made of, one for each problem: while the error is on its way up, before there is a
        model.
    **fields
        As `Message` has them.

    Examples
    --------
    >>> try:
    ...     raise RowsLost("no Dask worker is left", model=None)
    ... except MaxMarginError as error:
    ...     print(error, error.model)
    no Dask worker is left None
    """

    def __init__(self, message: str, model: Any = None, solutions: Sequence[Any] = (), **fields: Any) -> None:
        # All are kept in `args`, which is what pickle hands back to this constructor.
        super().__init__(message, model, solutions, **fields)
        self.model = model
        self.solutions = solutions

    def _text(self) -> str:
        return str(self.args[0])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `train`; `model` is the best so far, with its certificate.

    Parameters
    ----------
    message : str
    model : LinearModel
        Of work that makes no model, what it has found so far, such as a `LeaveOneOut`.

    Examples
    --------
    >>> try:
    ...     raise Interrupted("the fit was interrupted", model=None)
    ... except KeyboardInterrupt as error:
    ...     print(error, error.model)
    the fit was interrupted None
    """

    def __init__(self, message: str, model: Any = None) -> None:
        super().__init__(message)
        self.model = model


# ------------------------------------------------------------------------------------------------
# Everything maxmargin warns about; users import it from `maxmargin.errors`, where the tree is drawn.


class MaxMarginWarning(Message, UserWarning):
    """Anything this package warns about; the message says what to do about it.

    Parameters and attributes are those of `Message`.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import LinearSVM, errors
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVM(max_iter=1).fit([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> warning = caught[0].message
    >>> isinstance(warning, errors.MaxMarginWarning), warning.parameter, warning.value
    (True, 'tol', 0.0001)
    """


class CacheWarning(MaxMarginWarning):
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


class CalibrationWarning(MaxMarginWarning):
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


class ChangedDefaultWarning(MaxMarginWarning, FutureWarning):
    """A default is another one than in the release before; the message says how to have either.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import ChangedDefaultWarning, LogisticRegression
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> issubclass(caught[0].category, ChangedDefaultWarning), model.to_model().multi_class
    (True, 'softmax')
    """


def fitted_together(multi_class: str) -> ChangedDefaultWarning:
    """Return the warning that three or more classes have one problem, to be shown for one release."""
    by = {"softmax": "by softmax", "crammer_singer": "with the hinge of Crammer and Singer"}[multi_class]
    return ChangedDefaultWarning(
        f"three or more classes are fitted together now, {by}; the release before fitted each "
        "against the rest, as {one_vs_rest} does.",
        remedy="Say which of them you want, and this is not shown: {together} or {one_vs_rest}.",
        together=Setting("multi_class", multi_class),
        one_vs_rest=Setting("multi_class", "one_vs_rest"),
    )


class ClusterWarning(MaxMarginWarning):
    """Something about the workers of a cluster: little memory, different processors, a slow or silent one.

    Examples
    --------
    >>> from maxmargin import errors
    >>> issubclass(errors.ClusterWarning, UserWarning)
    True
    """


class ConvergenceWarning(MaxMarginWarning):
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


class DegenerateModelWarning(MaxMarginWarning):
    """The model is of little use on its own rows: θ = 0, or classes that none of them is predicted to be.

    The optimum of a problem may be such a model. Where that takes about as long as the fit took, the message
    says what other settings would give.

    Examples
    --------
    >>> import warnings
    >>> from maxmargin import DegenerateModelWarning, train
    >>> rows = [[float(k % 10)] for k in range(50)]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = train(rows, [k % 25 == 9 for k in range(50)])
    >>> warning = caught[0].message
    >>> isinstance(warning, DegenerateModelWarning), model.coef.tolist()
    (True, [[0.0]])
    >>> warning.parameter, warning.value, warning.remedy
    ('class_weight', None, "class_weight='balanced' predicts both classes.")
    """


class LeaveOneOutWarning(MaxMarginWarning):
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


class MissingClassWarning(MaxMarginWarning):
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
    >>> MissingClassWarning in [warning.category for warning in caught], model.best_score_
    (True, 0.0)
    """


class SkippedLines(MaxMarginWarning):
    r"""Lines of a file could not be read and were skipped, as `skip_bad_lines` asks for.

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

    def _text(self) -> str:
        return str(self.args[0])


# ------------------------------------------------------------------------------------------------
# Warning in the name of whoever called this package, from however deep inside it.

PACKAGE = __name__.partition(".")[0]


def warn_caller(warning: Warning) -> None:
    """Warn as if the first function outside the package did."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


def is_called_by(package: str) -> bool:
    """Return whether code of another package is what called this one, from however deep inside it.

    Examples
    --------
    >>> is_called_by("doctest"), is_called_by("sklearn")
    (True, False)
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not is_ours(module):
            return module == package or module.startswith(f"{package}.")
        frame = frame.f_back
    return False


def is_ours(module: str) -> bool:
    """Return whether a module belongs to this package."""
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
