"""What a report says, without a browser: its numbers, its size, what it leaves out and how it ends."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from browser.report_pages import chart_data, plain_text, report_of, tumour_report, tumours, two_classes
from scipy.sparse import csr_matrix
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.errors import InvalidInput, InvalidParameter, MissingFile
from maxmargin.reporting.fingerprint import fingerprint_of
from maxmargin.reporting.page import MissingJinja
from maxmargin.reporting.sections.path import _training_errors


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    return tumour_report(tmp_path_factory.mktemp("report")).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def words(page) -> str:
    return plain_text(page)


# ---------------------------------------------------------------- the page itself


def test_the_policy_names_the_pages_own_script_and_style_and_nothing_else(page):
    def source(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    head = page[: page.index("<title>")]
    stated = html.unescape(re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', head)[1])
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert stated.split("; ") == [
        "default-src 'none'",
        f"style-src {source(style)}",
        f"script-src {source(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]


# ---------------------------------------------------------------- numbers


def test_held_out_accuracy_has_the_interval_of_clopper_and_pearson(words):
    data = tumours()
    model = mm.LinearSVM(C=0.3).fit(*data.train)
    right = int((model.predict(data.X_test) == data.y_test).sum())
    ends = binomtest(right, 190).proportion_ci(0.95, method="exact")
    assert f"{100 * right / 190:.1f} % right on 190 held-out rows that had no part in training" in words
    assert f"95 % interval for new rows: {100 * ends.low:.1f} % to {100 * ends.high:.1f} %" in words


def test_the_training_error_is_called_that(words):
    data = tumours()
    wrong = int((mm.LinearSVM(C=0.3).fit(*data.train).agreements(*data.train) <= 0).sum())
    assert f"On the 379 rows it was fitted to, {wrong} are wrong" in words
    assert "That is the training error, and says little about new rows." in words


def test_points_are_distances_to_the_boundary(page):
    data = tumours()
    model = mm.LinearSVM(C=0.3).fit(*data.train)
    view = chart_data(page, "rows-chart")["views"][0]
    distances = model.decision_function(data.X) / np.linalg.norm(model.coef_)
    assert len(view["row"]) == 379
    assert view["x"] == pytest.approx(distances[view["row"]], rel=1e-3, abs=1e-3)
    assert view["margin"] == pytest.approx(1 / np.linalg.norm(model.coef_), rel=1e-4)
    assert view["positive"] == (data.y[view["row"]] == "malignant").astype(int).tolist()


def test_the_histogram_counts_every_row(page):
    for view, n in zip(chart_data(page, "margins-chart")["views"], (190, 379), strict=True):
        assert sum(sum(series["counts"]) for series in view["series"]) == n
        assert 0 in view["edges"]
        assert 1 in view["edges"]


def test_the_path_has_exact_leave_one_out_errors(page):
    data = tumours()
    spec = chart_data(page, "path-chart")
    left_out = next(one for one in spec["series"] if one["name"] == "wrong when left out")["values"]
    known = {C: value for C, value in zip(spec["x"], left_out, strict=True) if value is not None}
    assert len(known) == 9
    for C in (min(known), 0.3, max(known)):
        expected = mm.leave_one_out(mm.LinearSVM(C=C), *data.train)
        assert known[C] == pytest.approx(expected.n_errors / 379, rel=1e-4)


def test_the_certificate_is_computed_anew(tmp_path):
    X, y = two_classes()
    model = mm.train(X, y)
    said = plain_text(report_of(model, X, y, tmp_path))
    assert re.search(r"(At|Within [\d.e-]+ % of) the optimum", said)
    moved = mm.LinearClassifier.from_parameters(model.coef[0] * 3, model.intercept, classes=["no", "yes"])
    assert "Not certified" in plain_text(report_of(moved, X, y, tmp_path))
    worse = type(model)(**{**vars(model), "coef": model.coef * 3})
    said = plain_text(report_of(worse, X, y, tmp_path))
    assert re.search(r"Up to \d+ % above the optimum", said)
    assert "these coefficients are not the best for this problem on these rows" in said


def test_the_verdict_tells_data_version_and_command(tmp_path):
    X, y = two_classes(n=60)
    model = mm.LinearSVM().fit(X, y)
    page = report_of(model, X, y, tmp_path, command="maxmargin report a.model a.csv")
    first = plain_text(page[page.index('<section id="verdict"') : page.index('<section id="rows"')])
    assert "rows 60 columns 4 classes no (" in first
    assert str(fingerprint_of(X, y)) in first
    assert f"made by maxmargin {mm.__version__} command maxmargin report a.model a.csv" in first


def test_fingerprint_is_about_values_alone():
    X = np.array([[0.0, 1.5, -2.0], [0.25, 0.0, 0.0]])
    plain = fingerprint_of(X, [1, 2])
    with_zero = csr_matrix(X)
    with_zero.data = with_zero.data.copy()
    for same in (np.asfortranarray(X), X.astype(np.float32), with_zero):
        assert fingerprint_of(same, [1, 2]) == plain
    big = np.tile(X, (20_000, 1))
    assert fingerprint_of(big, [1] * 40_000).rows == fingerprint_of(csr_matrix(big), [1] * 40_000).rows
    assert fingerprint_of(np.where(X == 1.5, 1.5 + 1e-15, X), [1, 2]).rows != plain.rows
    assert fingerprint_of(X, [2, 1]).labels != plain.labels
    assert fingerprint_of(X.reshape(3, 2), [1, 1, 1]).rows != plain.rows


# ---------------------------------------------------------------- who can be reported on


def test_without_held_out_rows_leave_one_out_is_called_an_estimate(tmp_path):
    X, y = two_classes()
    model = mm.LogisticRegression().fit(X, y)
    said = plain_text(report_of(model, X, y, tmp_path))
    errors = mm.leave_one_out(model, X, y).n_errors
    assert f"{100 - errors / 2:.1f} % right on 200 rows when each is left out of the fit" in said
    assert "an estimate for new rows, without an interval" in said
    assert "each by the classifier that is fitted without it" in said


def test_sparse_rows_and_several_classes(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.5)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.3 * rng.normal(size=(150, 3)), axis=1)]
    page = report_of(
        mm.LinearSVM(multi_class="one_vs_rest").fit(csr_matrix(X), y), csr_matrix(X), y, tmp_path
    )
    assert [view["name"] for view in chart_data(page, "rows-chart")["views"]] == ["a", "b", "c"]
    assert "a, b or c?" in plain_text(page)
    assert "values that are not 0" in plain_text(page)


def test_a_pair_of_coefficients(tmp_path):
    X, y = two_classes(d=2)
    said = plain_text(report_of(([1.0, -1.0], 0.5), X, y, tmp_path))
    assert "nothing says what it was meant to minimise" in said
    assert "This is the training accuracy" in said


def test_scikit_learn_models_and_pipelines_with_texts(tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    texts = [f"{word} film number {k}" for k in range(20) for word in ("good", "bad")]
    y = np.tile([1, 0], 20)
    y[0] = 0
    pipeline = make_pipeline(TfidfVectorizer(), LinearSVC(loss="hinge", tol=1e-8)).fit(texts, y)
    said = plain_text(report_of(pipeline, texts, y, tmp_path))
    assert "LinearSVC" in said
    assert "good film number 0" in said  # the suspicious one
    assert "penalised offset" in said


def test_probabilities_of_several_classes_are_judged_on_left_out_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2, :2], y[::2]
    own = mm.LogisticRegression(multi_class="softmax", tol=1e-6)
    assert "each by the classifier that is fitted without it" in plain_text(
        report_of(own.fit(X, y), X, y, tmp_path)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.CalibrationWarning)
        by_class = own.set_params(calibrate="sigmoid").fit(X, y)
    assert "neither held-out rows nor left-out scores" in plain_text(report_of(by_class, X, y, tmp_path))


def test_probabilities_of_another_library_are_judged_on_held_out_rows(tmp_path):
    X, y = two_classes(120)
    train, test = slice(0, 80), slice(80, 120)
    likely = TheirLogisticRegression().fit(X[train], y[train])
    said = plain_text(report_of(likely, X[train], y[train], tmp_path, test=(X[test], y[test])))
    assert "40 held-out rows" in said
    said = plain_text(report_of(likely, X[train], y[train], tmp_path))
    assert "too good to be true, and no held-out rows were given" in said


def test_texts_of_a_series_are_those_of_the_rows_whatever_its_index(tmp_path):
    import pandas
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    words = [f"{'good' if k % 2 else 'bad'} film {k}" for k in range(40)]
    backwards = pandas.Index(range(39, -1, -1))
    texts = pandas.Series(words, index=backwards)
    y = pandas.Series(["praise" if k % 2 or k == 6 else "blame" for k in range(40)], index=backwards)
    pipeline = make_pipeline(TfidfVectorizer(), mm.LinearSVM()).fit(texts, y)
    rows = pipeline[0].transform(texts)
    for page in (
        report_of(pipeline, texts, y, tmp_path),
        report_of(pipeline, texts.set_axis(backwards + 100), y, tmp_path),
        report_of(pipeline[-1], rows, y, tmp_path, texts=texts),
    ):
        said = plain_text(page[page.index('<section id="suspects"') : page.index('<section id="guarantees"')])
        assert re.search(r"6 praise blame \S+ \S+ bad film 6\b", said)


def test_balanced_classes_of_a_model_from_a_file(tmp_path):
    X, y = two_classes()
    y[:60] = "no"
    mm.save_model(mm.train(X, y, class_weight="balanced"), tmp_path / "a.model")
    model = mm.load_model(tmp_path / "a.model")
    untold = replace(model, class_weight=None)  # as of a file of an older version
    assert "not the best for this problem" in plain_text(report_of(untold, X, y, tmp_path))
    balanced = {"class_weight": "balanced"}
    for one, settings in ((model, {}), (model, balanced), (untold, balanced)):
        said = plain_text(report_of(one, X, y, tmp_path, **settings))
        assert "balanced classes" in said
        assert "not the best for this problem" not in said
        assert "a model file does not contain it" in said  # the history of the fit
    with pytest.raises(InvalidInput, match="LinearModel knows its own class weights"):
        report_of(model, X, y, tmp_path, class_weight={"no": 2.0})


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (mm.LinearSVMCV(Cs=[0.1, 1.0], cv="loo"), "Chosen from 2 candidates on these examples"),
        (mm.Perceptron(), "A perceptron minimises no objective"),
        (mm.Pegasos(lam=0.1, max_updates=2000), "% above the optimum of its own objective"),
        (mm.LeastSquaresClassifier(), "According to the model's own certificate, from when it was fitted"),
        (mm.ZeroOneClassifier(), "no hyperplane makes fewer"),
        (
            mm.LogisticRegression(C=float("inf")),
            "so that there is no C to vary",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_every_kind_of_classifier(tmp_path, model, says):
    X, y = two_classes(n=80, d=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a perceptron on rows that cannot be separated
        model.fit(X, y)
    assert says in plain_text(report_of(model, X, y, tmp_path, max_time=10))


def test_a_search_over_a_pipeline_of_a_data_frame(tmp_path):
    import pandas
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = two_classes(n=80)
    X = pandas.DataFrame(X, columns=["height", "width", "depth", "weight"])
    grid = {"linearsvm__C": [0.1, 1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), mm.LinearSVM()), grid).fit(X, y)
    said = plain_text(report_of(search, X, y, tmp_path, test=(X[:20], y[:20])))
    assert "weight" in said
    assert "Chosen from 2 candidates" in said
    assert "held-out error (every test row is a training row)" in said
    assert "cannot read RidgeClassifier" in plain_text(report_of(RidgeClassifier().fit(X, y), X, y, tmp_path))


def test_no_boundary_and_no_suspects(tmp_path):
    X = np.array([[0.0], [1.0], [3.0], [4.0]] * 5)
    y = np.array([0, 0, 1, 1] * 5)
    assert "The classifier contradicts no label" in plain_text(
        report_of(mm.LinearSVM(10).fit(X, y), X, y, tmp_path)
    )
    assert "θ = 0" in plain_text(report_of(([0.0], 0.0), X, y, tmp_path))


# ---------------------------------------------------------------- the file


@pytest.mark.parametrize("kind", ["table", pytest.param("text", marks=pytest.mark.slow)])
def test_ten_thousand_rows_take_less_than_a_megabyte(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 40))
    y = X[:, :4].argmax(axis=1) if kind == "text" else X[:, 0] + 0.4 * rng.normal(size=10_000) > 0
    if kind == "text":
        X = csr_matrix(X * (rng.random(X.shape) < 0.2))
    texts = ["a text of some length " * 40] * 10_000 if kind == "text" else None
    model = mm.LinearSVM(C=0.01).fit(X, y)
    page = report_of(model, X, y, tmp_path, texts=texts, max_time=2)
    assert len(page.encode()) < 1_000_000
    shown = "5,041" if kind == "text" else "10,000"  # of two classes, or of both
    assert f"of {shown} rows, drawn at random" in plain_text(page)


def test_the_same_input_gives_the_same_bytes(tmp_path, page):
    assert tumour_report(tmp_path).read_text(encoding="utf-8") == page


def test_redacted_reports_hold_nothing_of_a_row(tmp_path):
    X, y = two_classes(n=60, d=2)
    y[:5] = "yes"
    texts = [f"secret{k:02}" for k in range(60)]
    model = mm.LinearSVM().fit(X, y)
    open_page = report_of(model, X, y, tmp_path, texts=texts)
    page = report_of(model, X, y, tmp_path, texts=texts, redact=True)
    assert "secret" in open_page
    assert "secret" not in page
    assert "Redacted: no values and no text of any row" in plain_text(page)
    assert chart_data(open_page, "rows-chart")["kind"] == "scatter"
    spec = chart_data(page, "rows-chart")
    assert spec["kind"] == "density"
    assert "row" not in spec["views"][0]
    counts = np.sum(spec["views"][0]["counts"], axis=0)
    assert counts.min() >= 5
    assert f"{counts.sum()} of 60 rows, where 5 or more lie together" in plain_text(page)


def test_nothing_in_the_file_points_outside(page):
    assert re.findall(r"""(?:src|href)=["'](?!#)""", page) == []
    assert "default-src 'none'" in html.unescape(page)
    assert page.count("<script>") == 1
    for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL):
        json.loads(block)
        assert "<" not in block


def test_bad_input_is_refused_before_any_work(tmp_path):
    X, y = two_classes(n=20)
    model = mm.LinearSVM().fit(X, y)
    with pytest.raises(InvalidInput, match="feature_names must name each of the 4 columns; got 1"):
        mm.report(model, X, y, feature_names=["a"], path=tmp_path / "r.html")
    with pytest.raises(InvalidInput, match="texts must have one entry for each of the 20 rows; got 1"):
        mm.report(model, X, y, texts=["a"], path=tmp_path / "r.html")
    with pytest.raises(InvalidParameter, match="max_time must be a positive number"):
        mm.report(model, X, y, max_time=-1, path=tmp_path / "r.html")
    with pytest.raises(InvalidParameter, match="confidence must be between 0 and 1"):
        mm.report(model, X, y, confidence=95, path=tmp_path / "r.html")
    with pytest.raises(InvalidParameter, match="test must be a pair"):
        mm.report(model, X, y, test=X, path=tmp_path / "r.html")
    with pytest.raises(InvalidInput, match="class_weight is for a LinearModel"):
        mm.report(model, X, y, class_weight="balanced", path=tmp_path / "r.html")
    with pytest.raises(MissingFile, match="there is no folder"):
        mm.report(model, X, y, path=tmp_path / "nowhere" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_without_jinja_it_says_what_to_install(tmp_path, monkeypatch):
    X, y = two_classes(n=20)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingJinja, match=r"pip install 'maxmargin\[report\]'"):
        mm.report(mm.LinearSVM().fit(X, y), X, y, path=tmp_path / "r.html")


# ---------------------------------------------------------------- sentences that the numbers decide


def test_training_errors_are_said_to_do_what_they_do():
    for errors, said in (
        ([0.3, 0.2, 0.2], "Training errors fall as C grows"),
        ([0.1, 0.1, 0.4], "Training errors rise as C grows"),
        ([0.25, 0.25, 0.25], "The training error is 25.0 % at every C"),
        (
            [0.3, 0.1, 0.2],
            "The training error goes from 30.0 % to 20.0 % as C grows, up and down, and is lowest, "
            "10.0 % at C = 1",
        ),
    ):
        path = SimpleNamespace(C=np.array([0.1, 1.0, 10.0]), training_error=np.array(errors))
        assert _training_errors(path) == said


def test_leave_one_out_of_a_pipeline_is_exact_for_its_classifier(tmp_path):
    X, y = two_classes(60)
    model = make_pipeline(StandardScaler(), mm.LinearSVM()).fit(X, y)
    said = plain_text(report_of(model, X, y, tmp_path))
    assert "Leave-one-out, exact for the classifier: an estimate for new rows" in said
    assert "The steps before the classifier were fitted with the row that is left out." in said
    said = plain_text(report_of(mm.LinearSVM().fit(X, y), X, y, tmp_path))
    assert "Leave-one-out, exact: an estimate for new rows" in said
    assert "The steps before" not in said
