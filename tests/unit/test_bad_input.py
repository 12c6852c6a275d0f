"""Every bad input is refused with a message that says what is wrong, where, and what to do."""

import math
import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from covering import each_row, every_pair, every_value
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from maxmargin import (
    CoefficientsDisplay,
    LeastSquaresClassifier,
    LinearClassifier,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    MarginHistogramDisplay,
    certify,
    compare,
    empirical_risk,
    leave_one_out,
    regularization_path,
    reliability,
    save_data,
    train,
)
from maxmargin.errors import (
    ConvergenceWarning,
    InvalidInput,
    InvalidParameter,
    MaxMarginError,
    NoFiniteOptimum,
)

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.arange(20) % 2
ONES = np.ones(20)


def but(array, where, value, dtype=None):
    changed = np.array(array, dtype=dtype)
    changed[where] = value
    return changed


def broken_csr(part, where, value):
    matrix = sp.csr_array(X)
    getattr(matrix, part)[where] = value
    return matrix


# name: (X, y, sample_weight, what the message says)
def objects_csr():
    matrix = sp.csr_array(X)
    matrix.data = matrix.data.astype(object)
    return matrix


DATA = {
    "NaN": (but(X, (7, 2), math.nan), Y, None, r"X contains NaN: row 7, column 2 \(counted from 0\)"),
    "inf": (but(X, (3, 1), math.inf), Y, None, r"X contains infinity \(inf\): row 3, column 1"),
    "-inf": (but(X, (0, 0), -math.inf), Y, None, r"X contains minus infinity \(-inf\): row 0, column 0"),
    "NaN, float32": (but(X.astype("f4"), (19, 2), math.nan), Y, None, "NaN: row 19, column 2"),
    "NaN, sparse": (broken_csr("data", 10, math.nan), Y, None, "NaN: row 3, column 1"),
    "None in X": (but(X, (2, 1), None, object), Y, None, "X contains NaN: row 2, column 1"),
    "NA in X": (
        pandas.DataFrame({"a": pandas.array([1, None] * 10, dtype="Int64"), "b": ["1"] * 20}),
        Y,
        None,
        "X contains NaN: row 1, column 0",
    ),
    "null in X": (polars.DataFrame({"a": [1, None] * 10}), Y, None, "X contains NaN: row 1, column 0"),
    "masked": (np.ma.masked_equal(X, X[4, 2]), Y, None, "masked values, the first in row 4, column 2"),
    "masked rows": (list(np.ma.masked_equal(X, X[4, 2])), Y, None, "a row of X contains masked .* place 2"),
    "a dictionary": ({"a": X[:, 0]}, Y, None, r"got a dict\. pandas\.DataFrame\(X\) makes one"),
    "spans of time": (
        np.zeros((20, 2), "m8[s]"),
        Y,
        None,
        r"must hold numbers; got dtype timedelta64\[s\]",
    ),
    "objects, sparse": (objects_csr(), Y, None, "X must hold numbers; got dtype object"),
    "huge": (X * 1e300, Y, None, r"row 0 of X .* so large that its square is infinite.* Scale the columns"),
    "column of text": (
        but(X, (slice(None), 1), "red", object),
        Y,
        None,
        r"row 0, column 1 \(counted from 0\) is 'red'. Encode text columns first",
    ),
    "text in a frame": (polars.DataFrame({"a": ["x", "y"] * 10}), Y, None, "row 0, column 0 .* is 'x'"),
    "complex": (X + 1j, Y, None, "Complex data not supported: X has dtype complex128"),
    "complex, sparse": (sp.csr_array(X + 1j), Y, None, "Complex data not supported: X has dtype complex128"),
    "dates": (np.zeros((20, 2), "M8[s]"), Y, None, r"X must hold numbers; got dtype datetime64\[s\]"),
    "no rows": (X[:0], Y[:0], None, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no columns": (X[:, :0], Y, None, r"Found array with 0 feature\(s\) \(shape=\(20, 0\)\)"),
    "three dimensions": (X[None], Y, None, "Found array with dim 3; X must have 2 dimensions"),
    "one dimension": (X[:, 0], Y, None, r"got 1D array instead \(length 20\). Reshape your data"),
    "no dimension": (3.0, Y, None, "Expected 2D array, got scalar array"),
    "sparse, one dimension": (sp.coo_array(X[:, 0]), Y, None, "Expected 2D sparse matrix, got 1 dimensions"),
    "nothing": (None, Y, None, "Expected 2D array, got scalar array"),
    "a path": ("a9a.svm", Y, None, "y comes with the rows of a str; leave it out"),
    "rows of different lengths": (
        [[1, 2], [3]],
        [0, 1],
        None,
        "X must be a table of numbers: .*inhomogeneous",
    ),
    "column too large": (
        broken_csr("indices", 5, 9),
        Y,
        None,
        r"row 1 names column 9, .* 3 columns \(0 to 2\)",
    ),
    "column negative": (broken_csr("indices", 0, -1), Y, None, "row 0 names column -1"),
    "row starts go back": (broken_csr("indptr", 5, 3), Y, None, "row 4 ends before it starts"),
    "row starts too large": (broken_csr("indptr", 20, 99), Y, None, "row 19 ends .* beyond the values"),
    "fewer labels": (X, Y[:19], None, "X has 20 rows, y has 19 labels"),
    "labels missing": (X, None, None, "requires y to be passed, but the target y is None"),
    "NaN label": (
        X,
        but(Y, 3, math.nan, float),
        None,
        r"y contains NaN or inf: label 3 \(counted from 0\) is nan",
    ),
    "NaN among text": (X, but(["a", "b"] * 10, 3, math.nan, object), None, "label 3 .* is nan"),
    "None label": (X, but(Y, 3, None, object), None, r"label 3 \(counted from 0\) is None"),
    "text and numbers": (X, but(Y, 3, "a", object), None, "y mixes labels .* text and numbers. Use one kind"),
    "continuous labels": (X, X[:, 0], None, "Unknown label type: continuous"),
    "masked labels": (X, np.ma.masked_array(Y, mask=Y == 1), None, "y contains masked .* first in place 1"),
    "complex labels": (X, Y + 1j, None, "Complex data not supported: y must hold labels"),
    "two columns of labels": (X, np.column_stack([Y, Y]), None, r"y should be a 1d array .*shape \(20, 2\)"),
    "sparse labels": (X, sp.csr_array(Y[:, None]), None, "y is sparse; it must be a vector"),
    "fewer weights": (X, Y, ONES[:19], r"sample_weight.shape == \(19,\), expected \(20,\)"),
    "negative weight": (
        X,
        Y,
        but(ONES, 4, -2),
        r"weight 4 \(counted from 0\) is -2.0. A weight means repetition",
    ),
    "NaN weight": (X, Y, but(ONES, 4, math.nan), "weight 4 .* is nan"),
    "infinite weight": (X, Y, but(ONES, 0, math.inf), "weight 0 .* is inf"),
    "no weight": (X, Y, 0 * ONES, "all sample weights are zero"),
    "weights beyond doubles": (X, Y, 1e308 * ONES, "weights add up to more than double precision can hold"),
    "weights of text": (X, Y, ["much"] * 20, "sample_weight must hold numbers"),
    "masked weights": (X, Y, np.ma.masked_array(ONES, mask=Y == 1), "sample_weight contains masked"),
    "complex weights": (X, Y, ONES + 0j, "sample_weight must hold numbers"),
    "dates as weights": (X, Y, ONES.astype("M8[s]"), "sample_weight must hold numbers"),
    "spans of time as weights": (X, Y, ONES.astype("m8[s]"), "sample_weight must hold numbers"),
    "weights in columns": (X, Y, ONES[:, None], "Sample weights must be 1D"),
}


@every_value(name=DATA, estimator=[LinearSVM(), LogisticRegression()])
def test_data(name, estimator):
    rows, labels, weights, message = DATA[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an error is enough; nothing warns on the way to it
        with pytest.raises(ValueError, match=message):
            type(estimator)().fit(rows, labels, weights)


MASKED_X, MASKED_Y = np.ma.masked_equal(X, X[4, 2]), np.ma.masked_array(Y, mask=Y == 1)
MASKED_COEF = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
NAMED = {"loss": "hinge", "C": 1.0}
JUDGED = {
    "predict": (lambda model: model.predict(MASKED_X), "X"),
    "score": (lambda model: model.score(X, MASKED_Y), "y"),
    "score, weights": (lambda model: model.score(X, Y, sample_weight=MASKED_Y), "sample_weight"),
    "agreements": (lambda model: model.to_model().agreements(X, MASKED_Y), "y"),
    "certify": (lambda model: certify(model, MASKED_X, Y), "X"),
    "certify, coef": (lambda _: certify(MASKED_COEF, X, Y, **NAMED), "coef"),
    "certify, intercept": (lambda _: certify(X[0], X, Y, intercept=MASKED_COEF[1:2], **NAMED), "intercept"),
    "risk": (lambda _: empirical_risk(MASKED_COEF, 0.0, X, 2 * Y - 1), "coef"),
    "compare": (lambda model: compare({"one": model}, X, MASKED_Y), "y"),
    "compare, coef": (lambda _: compare({"one": (MASKED_COEF, 0.0)}, X, Y), "θ"),
    "given": (lambda _: LinearClassifier.from_parameters(MASKED_COEF, 0.0, classes=[0, 1]), "coef"),
    "save": (lambda _: save_data(MASKED_X, "never.csv", y=Y), "X"),
    "save, labels": (lambda _: save_data(X, "never.csv", y=MASKED_Y), "y"),
    "reliability": (lambda _: reliability(np.ma.masked_array(0.5 * ONES, mask=Y == 1), Y), "probabilities"),
    "histogram": (lambda model: MarginHistogramDisplay.from_estimator(model, MASKED_X, Y), "X"),
    "histogram, labels": (lambda model: MarginHistogramDisplay.from_estimator(model, X, MASKED_Y), "y"),
    "coefficients": (lambda model: CoefficientsDisplay.from_estimator(model, X=MASKED_X), "X"),
    "coefficients, coef": (lambda _: CoefficientsDisplay.from_estimator((MASKED_COEF, 0.0)), "coef"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_nothing_forgets_a_mask(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask, what = JUDGED[name]
    model = LinearSVM().fit(X, Y)
    with pytest.raises(InvalidInput, match=f"^{what} contains masked values, the first in "):
        ask(model)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_objects_are_no_numbers():
    with pytest.raises(TypeError, match="argument must be a string or a number: X holds objects"):
        LinearSVM().fit(but(X, (0, 0), {}, object), Y)
    with pytest.raises(TypeError, match="np.matrix is not supported"):
        LinearSVM().fit(np.asmatrix(X), Y)


# ---------------------------------------------------------------- one class (S37)


def test_one_class_quotes_what_is_known():
    message = "only one class, 7; .* θ = 0, and every offset from 1 to inf is best: `train` returns that"
    with pytest.raises(InvalidInput, match=message):
        LinearSVM().fit(X, [7] * 20)
    model = train(X, [7] * 20)
    assert not model.coef.any()
    assert model.intercept_intervals == [(1.0, math.inf)]


def test_one_class_of_a_logistic_model_has_no_best_offset():
    with pytest.raises(NoFiniteOptimum, match="only one class .* no finite offset is best") as raised:
        LogisticRegression().fit(X, ["a"] * 20)
    assert raised.value.direction.tolist() == [0, 0, 0]
    assert (raised.value.offset, raised.value.kind, raised.value.n_separated) == (1, "complete", 20)


@pytest.mark.parametrize("settings", [{"penalize_intercept": True}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("estimator", [LinearSVM, LogisticRegression])
def test_one_class_without_a_free_offset(estimator, settings):
    with pytest.raises(InvalidInput, match="only one class, a; a classifier needs two"):
        estimator(**settings).fit(X, ["a"] * 20)


# ---------------------------------------------------------------- parameters

PARAMETERS = {
    "C negative": ({"C": -1.0}, "C must be a positive number; got C=-1.0"),
    "C zero": ({"C": 0}, "C must be a positive number; got C=0"),
    "C NaN": ({"C": math.nan}, "C must be a positive number; got C=nan"),
    "C text": ({"C": "1"}, "C must be a positive number; got C='1'"),
    "C true": ({"C": True}, "C must be a positive number; got C=True"),
    "C none": ({"C": None}, "C must be a positive number; got C=None"),
    "C infinite": (
        {"C": math.inf, "loss": "squared_hinge"},
        "C=inf asks for the smallest mean squared hinge loss .* Give a finite C",
    ),
    "lam zero": (
        {"lam": 0, "loss": "squared_hinge"},
        "lam=0 asks for the smallest mean squared hinge loss .* Give a finite C",
    ),
    "C infinite, penalised offset": (
        {"C": math.inf, "penalize_intercept": True},
        "C=inf .* leaves no weight to compare a penalised offset with",
    ),
    "C infinite, solver": (
        {"C": math.inf, "solver": "interior_point"},
        "needs a regulariser, and C=inf .* one of 'auto', 'soft_margins'",
    ),
    "lam negative": ({"lam": -0.1}, "lam must be a positive number; got lam=-0.1"),
    "lam infinite": ({"lam": math.inf}, "lam must be a positive number; got lam=inf"),
    "C and lam": ({"C": 2.0, "lam": 0.1}, "give C or lam, not both: .* got C=2.0 and lam=0.1"),
    "loss": ({"loss": "huber"}, "loss must be one of 'hinge', 'squared_hinge', 'logistic'; got loss='huber'"),
    "solver": ({"solver": "smo"}, "solver must be one of 'auto', 'dual_descent'.*; got solver='smo'"),
    "tol": ({"tol": 0.0}, "tol must be a positive number; got tol=0.0"),
    "max_iter zero": ({"max_iter": 0}, "max_iter must be a positive whole number or None; got max_iter=0"),
    "max_iter fraction": ({"max_iter": 1.5}, "max_iter must be a positive whole number or None"),
    "max_time": ({"max_time": -1}, "max_time must be a positive number or None; got max_time=-1"),
    "n_jobs": ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
    "random_state": ({"random_state": "a"}, "random_state must be None, a whole number"),
    "fit_intercept": (
        {"fit_intercept": "yes"},
        "fit_intercept must be True or False; got fit_intercept='yes'",
    ),
    "intercept_scaling": ({"intercept_scaling": 0}, "intercept_scaling must be a positive number"),
    "class_weight name": ({"class_weight": "balance"}, "class_weight must be None, 'balanced' or a mapping"),
    "class_weight negative": ({"class_weight": {0: -1}}, "positive and finite; class 0 has -1"),
    "class_weight text": ({"class_weight": {1: "a"}}, "class 1 has 'a'"),
    "watch": ({"watch": 3}, "watch must be a function of the progress or None; got watch=3"),
}


@each_row("name", PARAMETERS)
def test_parameters(name):
    settings, message = PARAMETERS[name]
    estimator = LinearClassifier(**settings)  # not judged before fit, as everywhere in scikit-learn
    with pytest.raises(InvalidParameter, match=message):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("settings", [{"C": math.inf}, {"lam": 0}, {"lam": 0.0}], ids=str)
def test_no_regulariser_is_not_for_the_squared_hinge(settings):
    message = "asks for the smallest mean squared hinge loss .* loss='hinge' .* loss='logistic' .* Give a fin"
    with pytest.raises(InvalidParameter, match=message):
        LinearSVM(loss="squared_hinge", **settings).fit(X, Y)


def test_a_svm_has_no_logistic_loss():
    with pytest.raises(InvalidParameter, match="loss must be one of 'hinge', 'squared_hinge'; got"):
        LinearSVM(loss="logistic").fit(X, Y)


def test_costs_that_overflow():
    with pytest.raises(InvalidInput, match="C times the weights must be between 1e-100 and 1e.100; the "):
        LinearSVM(C=1e50).fit(X, Y, 1e300 * ONES)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_an_offset_whose_penalty_leaves_floating_point(scale):
    message = (
        r"intercept_scaling must be between 1e-50 and 1e\+50; got intercept_scaling=1e.*without an offset"
    )
    estimator = LinearSVM(penalize_intercept=True, intercept_scaling=scale)
    foreign = LinearSVC(intercept_scaling=scale)
    foreign.coef_, foreign.intercept_, foreign.classes_ = X[:1], np.zeros(1), np.array([0, 1])
    for refused in (
        lambda: estimator.fit(X, Y),
        lambda: leave_one_out(estimator, X, Y),
        lambda: regularization_path(X, Y, penalize_intercept=True, intercept_scaling=scale),
        lambda: certify(foreign, X, Y),
    ):
        with pytest.raises(InvalidParameter, match=message):
            refused()
    LinearSVM(intercept_scaling=scale).fit(X, Y)  # where it means nothing


@every_pair(loss=["hinge", "squared_hinge", "logistic"], C=[1e-100, 1.0, 1e100], scale=[1e-50, 1e50])
def test_the_ends_of_what_is_allowed_raise_nothing(scale, C, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = train(X, Y, loss=loss, C=C, penalize_intercept=True, intercept_scaling=scale, max_iter=50)
    assert model.certificate.bound <= model.certificate.objective


@every_value(
    **{
        "rows, weights, C": [
            (1e-86 * X, 10.0 ** np.linspace(-20, 20, 20), math.inf),
            (1e83 * np.vstack([1e10 * X[:1], X[1:]]), None, 5e3),
            (2e89 * X, None, 1e9),
        ]
    },
    n_jobs=[1, 2],
)
def test_nothing_of_numpy_s_own_warns(rows, weights, C, n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = train(rows, Y, sample_weight=weights, C=C, n_jobs=n_jobs)
    assert model.certificate.bound <= model.certificate.objective


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(("scale", "C"), [(1e101, 1e-50), (1e60, 1e90)])
def test_rows_whose_squares_leave_double_precision_are_refused(loss, scale, C):
    with pytest.raises(InvalidInput, match="double precision has no digits left.* Scale the columns"):
        train(scale * X, Y, loss=loss, C=C)
    with pytest.raises(InvalidInput, match="double precision has no digits left.* Scale the columns"):
        certify(np.zeros(X.shape[1]), scale * X, Y, loss=loss, C=C)


@every_value(estimator=[LinearSVM, LogisticRegression], C=[1e308, 1e200, 1e-308, 5e-324])
def test_a_regularisation_whose_products_leave_floating_point(estimator, C):
    with pytest.raises(
        InvalidParameter, match=f"C must be between 1e-100 and 1e.100; got C={C}".replace("+", ".")
    ):
        estimator(C=C).fit(X, Y)
    with pytest.raises(
        InvalidParameter, match=r"lam must be such that C = .* is between 1e-100 and 1e.100; got"
    ):
        estimator(C=None, lam=C).fit(X, Y)


# ---------------------------------------------------------------- after fit

FITTED = LinearSVM().fit(X, Y)

LATER = {
    "fewer columns": (X[:, :2], "X has 2 features, but LinearSVM is expecting 3 features"),
    "more columns": (
        sp.csr_array(np.ones((2, 4))),
        "X has 4 features, but LinearSVM is expecting 3 features",
    ),
    "one dimension": (X[0], "Expected 2D array, got 1D array instead"),
    "a list": ([1.0, 2.0, 3.0], "Expected 2D array, got 1D array instead"),
    "nothing": (None, "Expected 2D array, got scalar array"),
    "NaN": (but(X, (5, 1), math.nan), "X contains NaN: row 5, column 1"),
    "huge": (np.full((1, 3), 1e308) * np.sign(FITTED.coef_), "row 0 of X .* so large"),
}


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize("name", LATER)
def test_rows_to_predict(name, method):
    rows, message = LATER[name]
    with pytest.raises(ValueError, match=message):
        getattr(FITTED, method)(rows)


@each_row("method", ["agreements", "margins", "slacks", "losses", "training_error", "certify"])
def test_rows_to_judge(method):
    with pytest.raises(ValueError, match="X has 2 features"):
        getattr(FITTED, method)(X[:, :2], Y)
    with pytest.raises(ValueError, match="20 rows, y has 3 labels"):
        getattr(FITTED, method)(X, Y[:3])


def test_a_label_that_was_not_learned():
    with pytest.raises(InvalidInput, match=r"y\[1\] is 2, which is none of the model's classes 0, 1"):
        FITTED.agreements(X, Y + 1)


def test_no_rows_to_predict_are_no_error():
    assert FITTED.predict(X[:0]).shape == (0,)


# ---------------------------------------------------------------- what is let through, and the tree of errors


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = LinearSVM().fit(X, Y[:, None])
    assert column.coef_.tobytes() == FITTED.coef_.tobytes()


def test_numbers_written_as_text_are_numbers():
    written = LinearSVM().fit(X.astype(str), Y)
    assert written.coef_ == pytest.approx(FITTED.coef_, rel=1e-12)


@pytest.mark.parametrize("cv", [False, True])
def test_a_class_weight_for_a_class_that_is_absent(cv):
    """It may be there in a part of the rows that scikit-learn made, as in its own estimators."""
    estimator = LinearSVMCV(Cs=[1.0], cv=2) if cv else LinearSVM()
    estimator.set_params(class_weight={0: 1.0, 1: 1.0, 5: 2.0})
    with pytest.raises(
        InvalidParameter, match="class_weight names 5, .* classes are 0, 1. Name classes of y"
    ):
        estimator.fit(X, Y)
    rows = np.vstack([X, X[:1] + 3.0])
    labels = np.append(Y, 5)
    folds = [(np.arange(len(Y)), np.arange(len(labels)))]  # the only row of class 5 is held out
    assert cross_val_score(estimator, rows, labels, cv=folds, error_score="raise").shape == (1,)
    estimator.set_params(class_weight={0: 1.0, 7: 2.0})
    with pytest.raises(ValueError, match="class_weight names 7"):
        cross_val_score(estimator, rows, labels, cv=folds, error_score="raise")


WITH_CLASS_WEIGHTS = [LinearSVM(), LogisticRegression(), LeastSquaresClassifier(), LinearSVMCV(cv=2)]


@pytest.mark.parametrize("estimator", WITH_CLASS_WEIGHTS, ids=str)
def test_class_weights_of_unknown_classes_are_refused(estimator):
    estimator = clone(estimator).set_params(class_weight={"0": 2.0, 1: 3.0})
    with pytest.raises(InvalidParameter, match="class_weight names '0', which y does not have: .* are 0, 1"):
        estimator.fit(X, Y)


@every_value(estimator=WITH_CLASS_WEIGHTS, zero=[0, 0.0, np.float64(0)])
def test_class_weights_of_zero_are_refused(estimator, zero):
    estimator = clone(estimator).set_params(class_weight={0: zero, 1: 3.0})
    with pytest.raises(InvalidParameter, match="must be positive; class 0 has .* leave out its rows"):
        estimator.fit(X, Y)


def test_what_judges_an_estimator_refuses_its_class_weights():
    with pytest.raises(InvalidParameter, match="class_weight names 5"):
        leave_one_out(LinearSVM(class_weight={5: 2.0}), X, Y)
    with pytest.raises(InvalidParameter, match="class_weight names 5"):
        certify(X[0], X, Y, **NAMED, class_weight={5: 2.0})
    with pytest.raises(InvalidParameter, match="class_weight must be positive; class 1 has 0"):
        certify(X[0], X, Y, **NAMED, class_weight={1: 0})


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "str"])
def test_labels_of_pandas(kind):
    labels = pandas.Series(Y if kind == "Int64" else Y == 1 if kind == "boolean" else np.array(["a", "b"])[Y])
    model = LinearSVM().fit(X, labels.astype(kind))
    assert model.classes_.tolist() == sorted(set(labels.tolist()))


def test_own_errors_share_a_base():
    assert issubclass(InvalidInput, MaxMarginError)
    assert issubclass(InvalidParameter, MaxMarginError)


@pytest.mark.parametrize("fit", [train, LinearSVM().fit])
@pytest.mark.parametrize("batches", [lambda: ((X, Y) for _ in range(2)), lambda: map(tuple, [(X, Y)])])
def test_batches_are_pointed_to_where_they_can_be_used(fit, batches):
    with pytest.raises(InvalidInput, match=r"are these batches of rows.*store_data\(batches, folder\)"):
        fit(batches())
