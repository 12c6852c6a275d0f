"""Every instruction set that this machine can run gives the same answers; other names are refused."""

import json
import os
import subprocess
import sys

import pytest

from maxmargin import _core

SCRIPT = """
import json
import sys
import numpy as np
import scipy.sparse as sp
from maxmargin import _core
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.rows.kernels import ScoresAndCombine
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.run import Limits, run

random = np.random.default_rng(0)
sign = np.where(random.random(100) < 0.5, 1, -1).astype(np.int8)
X = (random.normal(size=(100, 37)) + 0.4 * sign[:, None]).astype(np.float32)
w, a = random.normal(size=37), random.normal(size=100)
told = {"cpu": _core.cpu(), "available": _core.available_cpus(), "products": [], "fits": []}
wide = X.astype(np.float64)
for data in (X, wide, np.asfortranarray(X), sp.csr_array(X), sp.csr_array(wide)):
    rows = MemoryRows(data)
    z = rows.zeros()
    v = rows.reduce(ScoresAndCombine(w), z, a)
    told["products"].append([*z, *v, *rows.norms()[0]])
for loss in ("hinge", "squared_hinge", "logistic"):
    problem = Problem.binary(MemoryRows(X), sign, np.ones(100), loss, FreeOffset())
    solution = run(problem, DualDescent(), Plan("", ""), Limits(1e-6), token=_core.StopToken())
    certificate = solution.certificate
    told["fits"].append([certificate.objective, certificate.bound, certificate.relative_gap])
json.dump(told, sys.stdout)
"""


def run_with(cpu):
    environment = {**os.environ, "MAXMARGIN_CPU": cpu}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def answers():
    found = {}
    for cpu in _core.available_cpus():
        finished = run_with(cpu)
        assert finished.returncode == 0, finished.stderr
        found[cpu] = json.loads(finished.stdout)
    return found


def test_the_named_set_is_used(answers):
    assert {cpu: told["cpu"] for cpu, told in answers.items()} == {cpu: cpu for cpu in answers}
    assert all(told["available"] == _core.available_cpus() for told in answers.values())
    assert "baseline" in answers


def test_products_agree_to_rounding(answers):
    for told in answers.values():
        for products in told["products"]:
            assert products == pytest.approx(answers["baseline"]["products"][0], rel=1e-11, abs=1e-12)


def test_fits_agree_to_their_certificates(answers):
    for told in answers.values():
        for (objective, bound, gap), (other, other_bound, _) in zip(
            told["fits"], answers["baseline"]["fits"], strict=True
        ):
            assert gap <= 1e-6
            assert bound <= other * (1 + 1e-12)
            assert other_bound <= objective * (1 + 1e-12)


def test_without_a_name_the_widest_set_is_used():
    finished = run_with("")
    assert json.loads(finished.stdout)["cpu"] == _core.available_cpus()[-1]


def test_an_unknown_name_is_refused():
    finished = run_with("abacus")
    assert finished.returncode != 0
    names = ", ".join(_core.available_cpus())
    message = f'MAXMARGIN_CPU: no instruction set "abacus" on this machine; it can run {names}'
    assert message in finished.stderr
