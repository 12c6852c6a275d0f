"""Errors and warnings carry the parameter, its value and the remedy, and each front end spells them."""

import copy
import pickle

import pytest

from maxmargin import LinearSVM, errors
from maxmargin.errors import FileFormatError, InvalidParameter, Setting

BOTH = {
    "must be": InvalidParameter.must_be("max_time", "a positive number", -1.0, or_none=True),
    "place": FileFormatError(
        'the value of "{x}" is missing',
        "t.csv",
        3,
        1,
        remedy="{missing} replaces it",
        missing=Setting("missing", "median"),
    ),
    "file": errors.MissingFile("{setting}: no such file", parameter="model", value="a.model"),
    "warning": errors.ConvergenceWarning(
        "not within {setting}.",
        parameter="tol",
        value=0.5,
        remedy=("Raise {parameter}.", "Or fit again with {warm_start}."),
        warm_start=Setting("warm_start", True),
    ),
    "lines": errors.SkippedLines("t.csv: 2 lines were skipped", 2),
}
TEXTS = {
    "must be": "max_time must be a positive number or None; got max_time=-1.0",
    "place": "t.csv, line 3, column 1: the value of \"{x}\" is missing; missing='median' replaces it",
    "file": "model='a.model': no such file",
    "warning": "not within tol=0.5. Raise tol. Or fit again with warm_start=True.",
    "lines": "t.csv: 2 lines were skipped",
}


@pytest.mark.parametrize("name", BOTH)
def test_errors_are_kept_whole_by_copies(name):
    error = BOTH[name]
    assert str(error) == TEXTS[name]
    assert "{parameter}" not in repr(error)
    assert "{setting}" not in repr(error)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert (other.parameter, other.value, other.remedy) == (error.parameter, error.value, error.remedy)
        assert other.render(lambda setting: f"<{setting.name}>") == error.render(
            lambda setting: f"<{setting.name}>"
        )


def test_fields_of_a_refused_parameter():
    with pytest.raises(InvalidParameter) as caught:
        LinearSVM(C=-1.0).fit([[0.0], [1.0]], [0, 1])
    assert (caught.value.parameter, caught.value.value, caught.value.remedy) == ("C", -1.0, None)
    assert str(caught.value) == "C must be a positive number; got C=-1.0"
    with pytest.raises(InvalidParameter) as caught:
        LinearSVM(solver="newton").fit([[0.0], [1.0]], [0, 1])
    assert (caught.value.parameter, caught.value.value) == ("solver", "newton")
    assert caught.value.remedy.startswith("solvers that do: 'auto'")
    assert str(caught.value).endswith(caught.value.remedy)


def test_errors_without_fields_have_none():
    error = errors.InvalidInput("X has {braces}")
    assert (str(error), error.parameter, error.value, error.remedy) == ("X has {braces}", None, None, None)


def test_a_front_end_spells_what_it_has():
    error = BOTH["place"]
    assert error.render(lambda setting: f"--{setting.name} {setting.value}").endswith(
        "; --missing median replaces it"
    )
    assert error.render(has=lambda setting: False) == 't.csv, line 3, column 1: the value of "{x}" is missing'
    spelled = BOTH["must be"].render(lambda setting: f"--{setting.name}", or_none="")
    assert spelled == "--max_time must be a positive number; got --max_time"


def test_an_error_moves_with_its_remedy():
    moved = BOTH["place"].moved_to("u.csv", 7)
    assert (
        str(moved) == "u.csv, line 7, column 1: the value of \"{x}\" is missing; missing='median' replaces it"
    )
    assert moved.remedy == "missing='median' replaces it"


def test_of_several_remedies_a_front_end_gives_those_that_it_has():
    warning = BOTH["warning"]
    assert warning.remedy == "Raise tol. Or fit again with warm_start=True."
    has = {"has": lambda setting: setting.name != "warm_start"}
    assert warning.render(**has) == "not within tol=0.5. Raise tol."
    assert warning.render_remedy(**has) == "Raise tol."
    assert warning.render_remedy(has=lambda setting: False) is None


@pytest.mark.parametrize("name", ["place", "warning"])
def test_another_remedy(name):
    pytest.importorskip("distributed")  # it changes how exceptions are copied
    changed = BOTH[name].with_remedy("ask {whom}", whom=Setting("whom", ...))
    assert type(changed) is type(BOTH[name])
    assert changed.remedy == "ask whom=…"
    assert str(changed) == BOTH[name].render(has=lambda setting: False) + (
        "; ask whom=…" if name == "place" else " ask whom=…"
    )
    assert str(BOTH[name]) == TEXTS[name]
    assert str(pickle.loads(pickle.dumps(changed))) == str(changed)
