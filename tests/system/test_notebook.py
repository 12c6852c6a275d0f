"""A real notebook kernel: what it shows of a fit on its way, of a model, and of a record."""

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.xdist_group("notebook")  # one kernel for all tests

CELLS = [
    """
import warnings
import numpy as np
import maxmargin as mm
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, size=3000)
model = mm.LinearSVM(C=100, tol=1e-9, solver="dual_descent", max_iter=30, verbose=1).fit(X, y)
""",
    "mm.LinearSVM(solver='dual_descent', max_iter=10, verbose=1).fit(X, rng.integers(0, 3, size=3000));",
    "model",
    "model.to_model()",
    "model.certificate_",
    "model.plan_",
    """
trace = mm.Perceptron(fit_intercept=False, trace=True).fit([[2.0, 1.0], [1.0, -1.0]], [1, -1]).trace_
mm.TraceDisplay(trace=trace).animate(steps=[0, 1])
""",
]


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of each cell, as a notebook file would keep them."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in book.cells]


@pytest.mark.parametrize("cell", [0, 1], ids=["two classes", "three classes, in threads"])
def test_progress_is_one_bar_that_is_replaced(outputs, cell):
    (shown,) = outputs[cell]  # no line on the error stream, and not one output per certificate
    assert shown.output_type == "display_data"
    assert "of the optimum (goal" in shown.data["text/plain"]
    assert "<progress " in shown.data["text/html"]


def test_a_fitted_estimator_shows_diagram_and_card(outputs):
    (shown,) = outputs[2]
    assert shown.data["text/plain"].startswith("LinearSVM(")
    assert "sk-" in shown.data["text/html"]
    assert "<svg role=" in shown.data["text/html"]


def test_a_model_and_a_certificate_show_cards(outputs):
    for cell, words in ((3, "LinearModel: hinge, C = 100"), (4, "Certificate")):
        (shown,) = outputs[cell]
        assert words in shown.data["text/html"]
        assert "of the optimum" in shown.data["text/html"]


def test_records_show_their_sentence(outputs):
    assert outputs[4][0].data["text/plain"].startswith("within ")
    assert outputs[5][0].data["text/plain"].startswith("dual descent: 3,000 rows")


def test_a_film_shows_itself(outputs):
    assert outputs[6][-1].data["text/html"].startswith("<iframe srcdoc=")
