"""The playground's answers: the library's own numbers, and clear words for wrong questions."""

import json
import re

import numpy as np
import pytest
from covering import each_row, every_value
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from maxmargin import Perceptron, certify, gradient_descent, leave_one_out, train
from maxmargin.errors import InvalidInput
from maxmargin.play.answers import FORMAT, VERSION, answer, check_state
from maxmargin.play.examples import EXAMPLES, example_points
from maxmargin.play.state import MOST_POINTS, read_task
from maxmargin.play.steps import METHODS, MOST_STEPS


def points_of(name):
    return example_points(name)["points"]


def request_of(name="overlapping", **changes):
    return {"points": points_of(name), "loss": "hinge", "strength": "C", "value": 1.0, **changes}


def arrays(request):
    points = np.array(request["points"], dtype=float)
    return np.ascontiguousarray(points[:, :2]), points[:, 2].astype(int)


# ---------------------------------------------------------------- fits


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
def test_fit_is_what_svc_finds(C):
    request = request_of(value=C)
    X, y = arrays(request)
    found, theirs = answer("fit", request), SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(found["theta"], theirs.coef_[0], atol=1e-4)
    loss = np.maximum(0, 1 - y * theirs.decision_function(X)).sum()
    assert found["objective"] == pytest.approx(0.5 * (theirs.coef_**2).sum() + C * loss, rel=1e-6)
    assert found["bound"] <= found["objective"] <= found["bound"] * (1 + 1e-6)
    assert found["margin"] == pytest.approx(1 / np.linalg.norm(found["theta"]))


def test_logistic_fit_is_what_scikit_learn_finds():
    request = request_of(loss="logistic", value=0.7)
    X, y = arrays(request)
    found = answer("fit", request)
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(found["theta"], theirs.coef_[0], atol=1e-3)
    assert found["support"] is None


def test_lambda_names_the_same_problem_as_c():
    n = len(points_of("overlapping"))
    by_c = answer("fit", request_of(value=0.5))
    by_lam = answer("fit", request_of(strength="lam", value=1 / (0.5 * n)))
    assert by_lam["theta"] == pytest.approx(by_c["theta"], rel=1e-12)
    assert by_lam["C"] == pytest.approx(0.5)


def test_a_problem_without_offset_has_none():
    found = answer("fit", request_of(offset=False))
    assert found["theta0"] == 0
    X, y = arrays(request_of())
    assert found["objective"] == pytest.approx(
        train(X, y, fit_intercept=False).certificate.objective, rel=1e-4
    )


def test_support_slacks_and_errors_belong_together():
    found = answer("fit", request_of("many"))
    agreement = np.array(found["agreements"])
    assert found["training_errors"] == np.count_nonzero(agreement <= 0)
    assert set(np.flatnonzero(agreement < 1 - 1e-6)) <= set(found["support"])
    assert all(agreement[found["support"]] <= 1 + 1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_leave_one_out_is_the_library_s(loss):
    request = request_of(loss=loss)
    X, y = arrays(request)
    record = leave_one_out(train(X, y, loss=loss, tol=1e-8), X, y)
    found = answer("leave-one-out", request)
    assert found["errors"] == np.flatnonzero(record.errors).tolist()
    assert (found["n_errors"], found["undecided"]) == (record.n_errors, [])
    assert found["words"].startswith(f"{record.n_errors} of {len(y)} wrong when left out")


def test_leave_one_out_by_brute_force():
    request = request_of("outlier")
    X, y = arrays(request)
    wrong = []
    for k in range(len(y)):
        without = SVC(kernel="linear", C=1, tol=1e-10).fit(np.delete(X, k, 0), np.delete(y, k))
        if y[k] * without.decision_function(X[[k]])[0] <= 0:
            wrong.append(k)
    assert len(wrong) == 1
    assert answer("leave-one-out", request)["errors"] == wrong


@every_value(
    offset=[True, False],
    loss=["hinge", "squared_hinge", "logistic"],
    **{
        "points, words": [
            ([], "both classes"),
            ([[0, 0, 1]], "One class only"),
            ([[0, 0, -1], [1, 1, -1]], "One class only"),
        ]
    },
)
def test_one_class_or_none_is_no_error(points, words, loss, offset):
    request = request_of(points=points, loss=loss, offset=offset)
    found = answer("fit", request)
    assert not found["is_determined"]
    assert words.lower() in found["words"].lower()
    assert answer("leave-one-out", request)["errors"] == []
    assert not answer("compare", {**request, "hand": {"theta": [1, 0], "theta0": 0}})["is_determined"]


@every_value(loss=["hinge", "squared_hinge", "logistic"], value=[1e-9, 1e9])
def test_extreme_strengths_give_finite_numbers(loss, value):
    for question in ("fit", "leave-one-out"):
        json.dumps(answer(question, request_of(loss=loss, value=value)), allow_nan=False)


@pytest.mark.parametrize("place", [(1, 1), (0.1, -0.3), (0, 0), (40, 70)])
def test_points_in_one_place_give_finite_numbers(place):
    request = request_of(points=[[*place, 1], [*place, -1], [*place, 1]])
    found = answer("fit", request)
    assert found["margin"] is None  # θ = 0, to rounding
    json.dumps(found, allow_nan=False)
    json.dumps(answer("leave-one-out", request), allow_nan=False)


# ---------------------------------------------------------------- by hand


def test_typed_parameters_are_measured_against_the_optimum():
    request = request_of("separable", hand={"theta": [1.0, 0.5], "theta0": -0.2})
    X, y = arrays(request)
    found = answer("compare", request)
    agreement = y * (X @ [1.0, 0.5] - 0.2)
    by_definition = 0.5 * (1 + 0.25) + np.maximum(0, 1 - agreement).sum()
    assert found["objective"] == pytest.approx(by_definition)
    assert found["bound"] <= answer("fit", request)["objective"] < found["objective"]
    assert found["smallest_distance"] == pytest.approx(agreement.min() / np.sqrt(1.25))
    assert found["words"] == str(certify([1.0, 0.5], X, y, intercept=-0.2, loss="hinge", C=1.0, tol=1e-6))


def test_a_typed_zero_has_no_margin():
    found = answer("compare", request_of(hand={"theta": [0, 0], "theta0": 1}))
    assert found["margin"] is None
    assert found["smallest_distance"] is None
    json.dumps(found, allow_nan=False)


# ---------------------------------------------------------------- steps


def walk_of(name, request=None, **settings):
    return answer("steps", {**(request or request_of()), "steps": {"method": name, **settings}})


@every_value(offset=[True, False], name=METHODS)
def test_every_method_tells_every_step(name, offset):
    for rule in METHODS[name].rules:
        found = walk_of(name, request_of(offset=offset), rule=rule, count=30)
        length = len(found["words"])
        assert 2 <= length <= 31
        for key in ("theta", "theta0", "example", "updated", "training_errors", "measured"):
            assert len(found[key]) == length
        assert (found["theta"][0], found["theta0"][0]) == ([0, 0], 0)
        assert all(found["words"])
        assert offset or not any(found["theta0"])
        json.dumps(found, allow_nan=False)


def test_perceptron_steps_are_the_trace():
    request = request_of("separable")
    X, y = arrays(request)
    trace = Perceptron(trace=True).fit(X, y).trace_
    found = walk_of("perceptron", request, count=MOST_STEPS)
    assert len(found["words"]) == len(trace) + 1
    for t in range(1, len(trace) + 1):
        theta, theta0 = trace.weights(t)
        assert (found["theta"][t], found["theta0"][t]) == (theta.tolist(), theta0)
        assert found["words"][t] == trace.explain(t)
    assert found["training_errors"][-1] == 0
    assert "without a mistake" in found["reason"]


def test_a_course_that_is_cut_says_so():
    found = walk_of("perceptron", request_of("crossed"), count=7)
    assert len(found["words"]) == 8
    assert "first 7 steps" in found["reason"]


def test_a_learner_without_two_classes_says_so():
    found = walk_of("pegasos", request_of(points=[[0, 0, 1]]))
    assert not found["is_determined"]
    assert "both classes" in found["words"]


@pytest.mark.filterwarnings("error")
@every_value(value=[1e-9, 1e9], strength=["C", "lam"], name=METHODS)
def test_steps_that_are_too_long_end_in_numbers_that_can_be_shown(name, strength, value):
    points = [[1e6, 1e6, 1], [-1e6, 1e6, -1], [1e6, -1e6, 1], [0, 0, -1]]
    for rule in METHODS[name].rules:
        request = request_of(points=points, strength=strength, value=value)
        found = walk_of(name, request, rule=rule, count=60)
        assert found["words"]
        json.dumps(found, allow_nan=False)


def test_a_course_that_overflows_says_so():
    found = walk_of("descent", request_of(strength="lam", value=1e9), rule="η = 1", count=100)
    assert "steps too long" in found["reason"]
    assert len(found["words"]) < 60


def test_descent_steps_are_the_trace():
    request = request_of(loss="logistic", strength="lam", value=0.1)
    X, y = arrays(request)
    trace = gradient_descent(X, y, loss="logistic", lam=0.1, max_steps=20)
    found = walk_of("descent", request, count=20)
    np.testing.assert_array_equal(found["theta"], trace.coefs)
    np.testing.assert_allclose(found["measured"], trace.objective, rtol=1e-12)
    assert found["words"][3] == trace.explain(3)


def test_another_seed_draws_other_examples():
    first, again, other = (walk_of("pegasos", seed=seed, count=50)["example"] for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_pegasos_approaches_the_fit():
    request = request_of("separable", strength="lam", value=0.1)
    best = answer("fit", request)
    found = walk_of("pegasos", request, rule="η = 1/(λ t)", count=1000)
    optimum = best["lam"] * best["objective"]  # the mean form
    assert optimum * (1 - 1e-6) <= found["measured"][-1] <= 1.2 * optimum


# ---------------------------------------------------------------- examples and files


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_can_be_asked_for_and_fitted(name):
    example = answer("example", {"name": name})
    task = read_task(request_of(points=example["points"]))
    assert task.has_both_classes
    assert answer("fit", request_of(points=example["points"]))["is_determined"]


def test_examples_are_what_their_names_say():
    errors = {name: answer("fit", request_of(name, value=1e6))["training_errors"] for name in EXAMPLES}
    assert errors["separable"] == errors["outlier"] == errors["setosa"] == 0
    assert min(errors["overlapping"], errors["virginica"], errors["crossed"]) > 0
    assert len(points_of("many")) == 500


def saved_state(**changes):
    state = {
        "format": FORMAT,
        "version": VERSION,
        **request_of("separable"),
        "offset": True,
        "tab": "steps",
        "hand": {"theta": [1.0, 0.0], "theta0": 0.5},
        "steps": {"method": "pegasos", "rule": "η = 1/t", "count": 50, "seed": 2, "at": 7},
        "view": {"left": -1.0, "right": 1.0, "bottom": -2.0, "top": 2.0},
        "names": ["x₁", "x₂"],
        "classes": ["−1", "+1"],
    }
    return {**state, **changes}


def test_a_saved_state_comes_back_as_it_was():
    state = saved_state()
    assert answer("check", json.loads(json.dumps(state))) == {"state": state}


def test_what_is_not_part_of_a_state_is_dropped():
    assert "evil" not in answer("check", saved_state(evil="<script>"))["state"]


@each_row(
    ("changes", "words"),
    [
        ({"format": "other"}, "not a saved playground"),
        ({"version": 99}, "version"),
        ({"points": 3}, "points must be a list"),
        ({"points": [[1, 2]]}, r"points\[0\] must be"),
        ({"points": [[1, "2", 1]]}, r"points\[0\]\[1\] must be a finite number; got '2'"),
        ({"points": [[1, True, 1]]}, r"points\[0\]\[1\] must be a finite number"),
        ({"points": [[1, 1e300, 1]]}, "between"),
        ({"points": [[1, 2, 0]]}, "must be -1 or 1; got 0"),
        ({"points": [[0, 0, 1]] * (MOST_POINTS + 1)}, "up to 2,000 points"),
        ({"loss": "zero_one"}, "loss must be one of hinge"),
        ({"loss": ["hinge"]}, "loss must be one of hinge"),
        ({"strength": "gamma"}, "strength must be one of C, lam"),
        ({"value": 0}, "value must be between"),
        ({"value": None}, "value must be a finite number"),
        ({"offset": 1}, "offset must be true or false"),
        ({"tab": "other"}, "tab must be"),
        ({"hand": {"theta": [1], "theta0": 0}}, "two numbers"),
        ({"hand": {"theta": [1, 2]}}, "theta0 must be a finite number"),
        ({"view": {"left": 1, "right": 0, "bottom": 0, "top": 1}}, "left < right"),
        ({"names": ["x"]}, "names must be a list of two texts"),
        ({"steps": {"method": "adam"}}, "steps.method must be one of perceptron"),
        ({"steps": {"method": []}}, r"steps.method must be one of perceptron, .*; got \[\]"),
        ({"steps": {"method": "pegasos", "rule": "η = 7"}}, "steps.rule of pegasos"),
        (
            {"steps": {"method": "pegasos", "rule": {}}},
            "steps.rule of pegasos must be one of η = 1/t, .*; got {}",
        ),
        ({"steps": {"method": "pegasos", "count": 1e9}}, "steps.count must be between 1 and 1000"),
        ({"steps": {"method": "pegasos", "count": 1.5}}, "whole numbers"),
        ({"steps": {"method": "pegasos", "count": 10, "at": 11}}, "steps.at must be between"),
    ],
)
def test_wrong_states_are_refused_with_what_is_wrong(changes, words):
    with pytest.raises(InvalidInput, match=words):
        check_state(saved_state(**changes))
    assert re.search(words, answer("check", saved_state(**changes))["refused"])


@every_value(question=["fit", "leave-one-out", "compare", "steps", "example"], request_=[None, [], "text", 3])
def test_requests_that_are_no_objects_are_refused(question, request_):
    with pytest.raises(InvalidInput, match="JSON object"):
        answer(question, request_)


def test_an_unknown_question_is_told_from_an_answer():
    with pytest.raises(LookupError):
        answer("shutdown", {})
