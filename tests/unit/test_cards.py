"""What a notebook shows of a model: the numbers are right, nothing of the user's is taken for HTML."""

import pickle
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn

import maxmargin as mm
from maxmargin.errors import InvalidInput
from maxmargin.presentation.cards import HEIGHT, WIDTH, AgreementCounts, card, details, histogram, verdict
from maxmargin.presentation.palette import LIGHT

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=300) > 0, "yes", "no")


class Tags(HTMLParser):
    """Counts tags and sees that each is closed."""

    VOID = ("br", "meta", "link", "input", "img")

    def __init__(self):
        super().__init__()
        self.seen, self.open, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def parsed(text):
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0, 1e5])
def test_counts_are_those_of_a_histogram(spread):
    agreements = RNG.normal(spread, spread, 500)
    signs = RNG.choice([-1, 1], 500)
    counts = AgreementCounts.of(agreements, signs)
    edges = counts.edges
    assert len(edges) <= 2 * 40 + 2
    held = np.clip(agreements, edges[0] + 1e-9 * spread, edges[-1] - 1e-9 * spread)
    for sign, found in ((1, counts.positive), (-1, counts.negative)):
        np.testing.assert_array_equal(found, np.histogram(held[signs == sign], edges)[0])
    assert np.abs(edges).min() < 1e-9 * spread  # 0 is a limit
    assert counts.n_errors == np.sum(agreements <= 0)
    assert counts.beyond == np.sum((agreements < edges[0]) | (agreements > edges[-1])) <= 0.03 * 500


def test_a_row_at_0_is_an_error():
    counts = AgreementCounts.of([0.0, 0.0, 0.5, 2.0], [1, -1, 1, -1])
    left = counts.edges[1:] <= 1e-12
    assert sum(np.array(counts.positive)[left]) == sum(np.array(counts.negative)[left]) == 1
    assert str(counts) == "4 rows: 2 errors, 1 inside the margin"
    assert str(AgreementCounts.of([], [])) == "0 rows: 0 errors, 0 inside the margin"


def test_a_sample_says_so_and_gives_shares():
    counts = AgreementCounts.of([-1.0, 0.5, 2.0, 3.0], [1, 1, -1, -1], n_rows=4000)
    assert str(counts) == "4 of 4,000 rows, evenly spread: 25.0 % errors, 25.0 % inside the margin"


def test_a_model_keeps_the_counts_of_its_rows():
    weights = np.ones(300)
    weights[:50] = 0
    for rows in (X, sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        model = mm.train(rows, Y, sample_weight=weights)
        agreements = model.agreements(X[50:], Y[50:])
        assert model.agreement_counts.n_rows == model.agreement_counts.n_counted == 250
        assert model.agreement_counts.n_errors == np.sum(agreements <= 0)
    three = mm.LinearSVM().fit(X, RNG.integers(0, 3, 300))
    assert three.to_model().agreement_counts.n_classes == 3
    assert three.to_model().agreement_counts.n_errors > 50


@pytest.mark.parametrize(
    "learner",
    [mm.LinearSVM(), mm.LogisticRegression(), mm.Perceptron(), mm.LeastSquaresClassifier(), mm.Pegasos()],
    ids=lambda learner: type(learner).__name__,
)
def test_every_learner_counts_its_errors(learner):
    learner.fit(X, Y)
    assert learner.to_model().agreement_counts.n_errors == round(300 * learner.training_error(X, Y))
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    learner.fit(X, labels)
    assert learner.to_model().agreement_counts.n_errors == round(300 * learner.training_error(X, labels))


def test_of_many_rows_some_are_counted():
    many_rows, many_labels = np.tile(X, (200, 1)), np.tile(Y, 200)
    model = mm.train(many_rows, many_labels)
    counts = model.agreement_counts
    every = len(many_labels) // counts.n_counted
    assert counts.n_rows == 60_000
    assert every > 1
    sampled = model.agreements(many_rows[::every], many_labels[::every])
    assert counts.n_counted == len(sampled)
    assert counts.n_errors == np.sum(sampled <= 0)


def test_the_counts_take_little_room():
    assert len(pickle.dumps(mm.train(X, Y).agreement_counts)) < 700


# ---------------------------------------------------------------- the tiny histogram


def test_bars_are_as_high_as_their_counts():
    counts = AgreementCounts.of(RNG.normal(0.8, 0.5, 400), RNG.choice([-1, 1], 400, p=[0.3, 0.7]))
    drawing = ET.fromstring(histogram(counts))
    assert drawing.get("aria-label") == str(counts)
    heights = {}
    for path in drawing.iter("path"):
        if path.get("fill"):
            heights[path.get("fill")] = [float(v) for v in re.findall(r" [\d.]+v(-?[\d.]+)h", path.get("d"))]
    scale = (HEIGHT - 15.0) / (max(counts.positive) + max(counts.negative))
    up = [-count * scale for count in counts.positive if count]
    down = [count * scale for count in counts.negative if count]
    np.testing.assert_allclose(heights[LIGHT.positive], up, atol=0.8)
    np.testing.assert_allclose(heights[LIGHT.negative], down, atol=0.8)
    ends = [float(x) for x in re.findall(r"M([\d.]+) ", "".join(p.get("d") for p in drawing.iter("path")))]
    assert max(ends) <= WIDTH


def test_the_lines_0_and_1_stand_where_they_should():
    counts = AgreementCounts.of([-1.0, 0.5, 2.0], [1, 1, -1])
    drawing = ET.fromstring(histogram(counts))
    places = {text.text: float(text.get("x")) for text in drawing.iter("text")}
    step = WIDTH / len(counts.positive) / counts.width
    assert places["0"] == pytest.approx(-counts.start * step, abs=0.06)
    assert places["1"] - places["0"] == pytest.approx(step, abs=0.11)
    many = AgreementCounts.of([-1.0, 0.5, 2.0], [1, 1, 1], n_classes=3)
    assert [text.text for text in ET.fromstring(histogram(many)).iter("text")] == ["0"]
    wide = ET.fromstring(histogram(AgreementCounts.of([-100.0, 500.0], [1, -1])))
    assert [text.get("text-anchor") for text in wide.iter("text")] == ["end", "start"]


def test_no_rows_and_no_bars():
    assert parsed(histogram(AgreementCounts.of([], []))).seen[0] == "svg"


# ---------------------------------------------------------------- cards


EVIL = '</div><img src=x onerror="alert(1)">&amp;'


@pytest.mark.parametrize("made", [card(EVIL), card("t", verdict(EVIL, True)), details(EVIL, {EVIL: EVIL})])
def test_text_stays_text(made):
    tags = parsed(made)
    assert "img" not in tags.seen
    assert EVIL in "".join(tags.words)


def test_labels_stay_text():
    labels = np.where(Y == "yes", EVIL, "<script>")
    for shown in (mm.train(X, labels)._repr_html_(), mm.LinearSVM().fit(X, labels)._repr_html_()):
        ours = shown[shown.rindex('<div role="group"') :]
        tags = parsed(ours)
        assert not {"img", "script"} & set(tags.seen)
        assert EVIL in "".join(tags.words)


def test_a_model_shows_certificate_plan_and_histogram():
    model = mm.train(X, Y)
    words = "".join(parsed(model._repr_html_()).words)
    for said in (model.certificate, model.plans[0], model.agreement_counts):
        assert str(said) in words
    assert "✓" in words
    assert "http" not in model._repr_html_()
    assert len(model._repr_html_()) < 10_000


def test_a_goal_that_was_missed_is_marked():
    with pytest.warns(mm.ConvergenceWarning):
        model = mm.train(X, Y, solver="dual_descent", tol=1e-12, max_iter=1)
    words = "".join(parsed(model._repr_html_()).words)
    assert "✓" not in words
    assert "the iteration limit was reached" in words


def test_an_estimator_adds_a_card_to_scikit_learns_diagram():
    model = mm.LinearSVM()
    diagram = model._repr_html_()
    assert "sk-" in diagram
    assert '<div role="group"' not in diagram  # nothing to tell before the fit
    model.fit(X, Y)
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-" in shown
        assert str(model.certificate_) in shown
        assert shown.count("<svg role=") == 1
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_what_has_no_certificate_says_how_it_came_about():
    given = mm.LinearClassifier.from_parameters([1.0, 2.0, 3.0])
    assert "parameters that were given; certify(X, y) evaluates them" in given._repr_html_()
    walked = mm.Perceptron(max_passes=2).fit(X, Y)
    assert "600 examples looked at" in walked._repr_html_()
    assert "it made the 2 passes asked for" in walked._repr_html_()


def test_several_classes_show_the_worst():
    model = mm.LinearSVM(multi_class="one_vs_rest").fit(X, RNG.integers(0, 3, 300))
    worst = model.certificates_.index(model.certificate_)
    assert f"class {worst}, the worst: {model.certificate_}" in model._repr_html_()


def test_models_from_files_and_without_rows(tmp_path):
    path = tmp_path / "a.model"
    mm.save_model(mm.train(X, Y), path)
    read = mm.load_model(path)
    assert read.agreement_counts is None
    assert "<svg" not in read._repr_html_()
    assert "θ = 0" in mm.train(np.zeros((0, 2)), [])._repr_html_()


def test_a_certificate():
    proof = mm.train(X, Y).certificate
    shown = proof._repr_html_()
    assert str(proof) in "".join(parsed(shown).words)
    assert "relative gap" in shown


def test_models_of_one_class_and_without_probabilities():
    lone = mm.train([[0.0], [1.0]], ["a", "a"])
    assert lone.predict([[3.0], [-9.0]]).tolist() == ["a", "a"]
    assert "no second class" in lone._repr_html_()
    plain = mm.train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    with pytest.raises(InvalidInput, match="calibrate"):
        plain.predict_log_proba([[2.0]])


def test_a_calibrated_model_says_so():
    X = np.arange(40.0)[:, None]
    y = np.where(np.arange(40) % 8 == 5, 1, np.arange(40) > 19)
    assert "calibrated" in mm.train(X, y, calibrate="temperature")._repr_html_()
