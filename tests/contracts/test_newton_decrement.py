"""The certificate of maximum likelihood is honest everywhere, and tight near the optimum."""

import numpy as np
import pytest
from covering import every_pair
from reference.likelihood import Likelihood
from reference.likelihood_tasks import KINDS, TASKS, overlapping, problem_of

from maxmargin.core.certificate.duality import examine, stationarity


@every_pair(name=TASKS, kind=KINDS)
def test_honest_everywhere(name, kind):
    """On the way to the optimum, beside it and far away the gap is at least the distance to the optimum."""
    task = TASKS[name](kind)
    problem, best = problem_of(task), task.optimum()
    random = np.random.default_rng(8)
    course = task.course(12)
    points = [*course, *(size * random.normal(size=len(course[0])) for size in (1e-3, 0.1, 1.0, 30.0))]
    points += [course[-1] * (1 + size * random.normal(size=len(course[0]))) for size in (1e-6, 1e-3, 0.1)]
    proved = 0
    for v in points:
        w, b = task.split(v)
        proof = examine(problem, w, b, problem.rows.zeros()).certificate
        excess = float(task.value(np.append(w, b) if kind != "none" else w) - best)
        rounding = 1e-13 * proof.objective
        assert proof.kind == "newton-decrement"
        assert proof.is_finite
        assert excess <= proof.gap + rounding
        assert proof.bound <= float(best) + rounding
        assert proof.objective == pytest.approx(proof.bound + proof.gap, rel=1e-12)
        proved += proof.bound > 0
    assert proved >= 5
    w, b = task.split(course[-1])
    assert examine(problem, w, b, problem.rows.zeros()).certificate.relative_gap <= 1e-12


def test_rows_without_cost_do_not_matter():
    task = overlapping(9)
    problem = problem_of(task)
    far = np.where(task.cost[:, None] == 0, 1e4, task.X)
    moved = problem_of(Likelihood(far, task.sign, task.cost))
    w, b = task.split(task.course()[-1])
    proofs = [examine(each, w, b, each.rows.zeros()).certificate for each in (problem, moved)]
    assert proofs[0].gap == pytest.approx(proofs[1].gap, rel=0.1, abs=1e-25)
    assert proofs[1].relative_gap < 1e-12


def test_columns_that_cannot_be_told_apart_prove_nothing():
    """A column that adds 1e-9 of news would take weights of 1e9: what they gain is not known, not denied."""
    task = overlapping(10)
    random = np.random.default_rng(0)
    nearly = task.X[:, :1] * (1 + 1e-9 * random.normal(size=(len(task.X), 1)))
    problem = problem_of(Likelihood(np.hstack([task.X, nearly]), task.sign, task.cost))
    w, b = task.split(task.course()[-1])
    proof = examine(problem, np.append(w, 0.0), b, problem.rows.zeros()).certificate
    assert (proof.bound, proof.gap) == (0.0, proof.objective)
    assert "no bound above 0 was found" in str(proof)


@pytest.mark.parametrize("overlap", [1e-2, 1e-5, 1e-8])
def test_a_small_overlap_has_a_proof(overlap):
    X = np.array([[-1.0], [overlap], [0.0], [1.0 + overlap]])
    task = Likelihood(X, np.array([-1, -1, 1, 1], dtype=np.int8), np.ones(4))
    w, b = task.split(task.course(80)[-1])
    problem = problem_of(task)
    proof = examine(problem, w, b, problem.rows.zeros()).certificate
    assert proof.relative_gap < 1e-10
    assert w[0] > 0.8 * np.log(1 / overlap)


def test_where_no_curvature_is_left_nothing_is_proved():
    task = overlapping(16)
    problem = problem_of(task)
    for size in (1e3, 1e5, 1e7):
        proof = examine(problem, np.full(4, size), 0.0, problem.rows.zeros()).certificate
        assert (proof.bound, proof.gap) == (0.0, proof.objective)


def test_separable_data_prove_nothing():
    task = Likelihood(
        np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1], dtype=np.int8), np.ones(4)
    )
    problem = problem_of(task)
    for slope in np.linspace(0, 80, 161):
        proof = examine(problem, np.array([slope]), -slope, problem.rows.zeros()).certificate
        assert proof.bound == 0


def test_no_rows_and_weights_out_of_range():
    task = overlapping(11)
    for cost in (np.zeros(80), task.cost):
        problem = problem_of(Likelihood(task.X, task.sign, cost))
        for size in (0.0, 1e200, 1e308):
            with np.errstate(over="ignore", invalid="ignore"):
                proof = examine(problem, np.full(4, size), 0.0, problem.rows.zeros()).certificate
            assert proof.bound == 0 or size == 0
    nothing = problem_of(Likelihood(np.zeros((3, 2)), task.sign[:3], np.ones(3), "none"))
    proof = examine(nothing, np.zeros(2), 0.0, np.zeros(3)).certificate
    assert proof.gap <= 1e-13
    assert proof.objective == pytest.approx(3 * np.log(2))


def test_the_same_bits_for_any_number_of_threads():
    task = overlapping(12, n=500)
    w, b = task.split(task.course(3)[-1])
    proofs = []
    for threads in (1, 2, 8):
        problem = problem_of(task, threads=threads, block_rows=7)
        proofs.append(examine(problem, w, b, problem.rows.zeros()).certificate)
    assert proofs[0] == proofs[1] == proofs[2]


@pytest.mark.parametrize("kind", KINDS)
def test_mistake_probabilities_are_orthogonal_to_labels_and_columns(kind):
    task = overlapping(13, kind)
    problem = problem_of(task)
    w, b = task.split(task.course()[-1])
    point = examine(problem, w, b, problem.rows.zeros())
    found = stationarity(problem, point)
    assert found["features"] < 1e-8
    assert ("labels" in found) == (kind != "none")
    assert found.get("labels", 0.0) < 1e-8
    np.testing.assert_allclose(
        point.alpha, task.cost / (1 + np.exp(task.sign * (task.X @ w + b))), rtol=1e-12, atol=0
    )
