"""Other people's solvers, each behind the same two functions: `fit` with a setting, `read` the coefficients.

A peer is made from rows in the form that it likes, labels of ±1, a loss and C. What is done when it is made
is preparation and not counted; what `fit` does is counted. Packages are imported when a peer is made, each
in its own process, so a missing or broken one harms nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PEERS", "Peer"]


class Peer(NamedTuple):
    """`fit(**setting)` returns something that `read` turns into weights, offset and remarks."""

    fit: Callable[..., Any]
    read: Callable[[Any], tuple[np.ndarray, float, dict[str, Any]]]


def read_attributes(model: Any) -> tuple[np.ndarray, float, dict[str, Any]]:
    coef, intercept = model.coef_, model.intercept_
    coef = coef.toarray() if hasattr(coef, "toarray") else coef
    steps = getattr(model, "n_iter_", None)
    remarks = {} if steps is None else {"iterations": int(np.max(steps))}
    return np.ravel(coef), float(np.ravel(intercept)[0]), remarks


# ---------------------------------------------------------------- ours


def maxmargin(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from maxmargin import train

    kinds = {"free": {}, "penalized": {"penalize_intercept": True}, "none": {"fit_intercept": False}}

    def fit(**setting: Any) -> Any:
        return train(X, y, loss=loss, C=C, **kinds[offset], **setting)

    def read(model: Any) -> tuple[np.ndarray, float, dict[str, Any]]:
        history = model.histories[0]
        remarks = {
            "gap": model.certificate.relative_gap,
            "status": model.status.name,
            "iterations": model.n_iter[0],
            "passes": float(history.passes[-1]) if len(history) else 0.0,
            "plan": str(model.plans[0]),
        }
        return model.coef[0], float(model.intercept[0]), remarks

    return Peer(fit, read)


# ---------------------------------------------------------------- LIBLINEAR and scikit-learn


def liblinear(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from liblinear.liblinear import parameter, problem
    from liblinear.liblinearutil import train

    bias = -1 if offset == "none" else 1
    data = problem(y, X, bias=bias)

    def fit(s: int, e: float) -> Any:
        return train(data, parameter(f"-s {s} -c {C!r} -e {e!r} -B {bias} -q"))

    def read(model: Any) -> tuple[np.ndarray, float, dict[str, Any]]:
        n_columns = X.shape[1]
        w = np.array(model.w[: n_columns + (bias > 0)]) * (1 if model.label[0] == 1 else -1)
        return w[:n_columns], float(w[n_columns]) if bias > 0 else 0.0, {}

    return Peer(fit, read)


def linear_svc(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from sklearn.svm import LinearSVC

    def fit(**setting: Any) -> Any:
        return LinearSVC(loss=loss, C=C, random_state=0, **setting).fit(X, y)

    return Peer(fit, read_attributes)


def svc(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from sklearn.svm import SVC

    def fit(**setting: Any) -> Any:
        return SVC(kernel="linear", C=C, cache_size=2000, **setting).fit(X, y)

    return Peer(fit, read_attributes)


def sgd(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from sklearn.linear_model import SGDClassifier

    name = {"logistic": "log_loss"}.get(loss, loss)

    def fit(**setting: Any) -> Any:
        return SGDClassifier(name, alpha=1 / (C * len(y)), tol=None, random_state=0, **setting).fit(X, y)

    return Peer(fit, read_attributes)


def logistic_regression(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from sklearn.linear_model import LogisticRegression

    def fit(**setting: Any) -> Any:
        return LogisticRegression(C=C, **setting).fit(X, y)

    return Peer(fit, read_attributes)


# ---------------------------------------------------------------- cyanure, Snap ML, scikit-learn-intelex


def cyanure(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from cyanure.estimators import Classifier

    # Its objective is the mean loss + lambda/2 |w|^2, and its squared hinge has a half in front.
    name, share = {"logistic": ("logistic", 1.0), "squared_hinge": ("sqhinge", 2.0)}[loss]
    strength = 1 / (share * C * len(y))

    def fit(n_threads: int, **setting: Any) -> Any:
        model = Classifier(
            name, "l2", lambda_1=strength, verbose=False, fit_intercept=True, n_threads=n_threads, **setting
        )
        return model.fit(X, y)

    return Peer(fit, read_attributes)


def snapml(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    import snapml

    def fit(**setting: Any) -> Any:
        more = {"fit_intercept": True, "intercept_scaling": 1.0, "regularizer": 1 / C, "random_state": 0}
        if loss == "logistic":
            return snapml.LogisticRegression(dual=True, **more, **setting).fit(X, y)
        return snapml.SupportVectorMachine(loss=loss, **more, **setting).fit(X, y)

    return Peer(fit, read_attributes)


def intelex(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    from sklearnex.linear_model import LogisticRegression

    def fit(**setting: Any) -> Any:
        return LogisticRegression(C=C, **setting).fit(X, y)

    return Peer(fit, read_attributes)


# ---------------------------------------------------------------- quadratic programs


def slack_program(X: Any, y: np.ndarray, C: float) -> dict[str, Any]:
    """Return ½‖w‖² + C Σ ξ over (w, b, ξ) with −s(x·w + b) − ξ ≤ −1 and ξ ≥ 0, in sparse matrices."""
    import scipy.sparse as sp

    n_rows, n_columns = X.shape
    signed = sp.diags(y) @ sp.csr_matrix(X)
    P = sp.diags(np.r_[np.ones(n_columns), np.zeros(n_rows + 1)]).tocsc()
    cost = np.r_[np.zeros(n_columns + 1), np.full(n_rows, C)]
    above = sp.hstack([-signed, -sp.csr_matrix(y[:, None]), -sp.eye(n_rows)]).tocsc()
    return {"P": P, "cost": cost, "G": above, "h": -np.ones(n_rows), "first_slack": n_columns + 1}


def piqp(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    import piqp

    qp = slack_program(X, y, C)
    n_variables = len(qp["cost"])
    A, rhs = np.zeros((0, n_variables)), np.zeros(0)
    import scipy.sparse as sp

    low = np.full(n_variables, -np.inf)
    low[qp["first_slack"] :] = 0.0

    def fit(eps: float) -> Any:
        solver = piqp.SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = eps
        solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = eps
        solver.setup(qp["P"], qp["cost"], sp.csc_matrix(A), rhs, qp["G"], None, qp["h"], low, None)
        solver.solve()
        return solver.result

    def read(result: Any) -> tuple[np.ndarray, float, dict[str, Any]]:
        n_columns = X.shape[1]
        x = np.asarray(result.x)
        return x[:n_columns], float(x[n_columns]), {"iterations": int(result.info.iter)}

    return Peer(fit, read)


def clarabel(X: Any, y: np.ndarray, loss: str, C: float, offset: str) -> Peer:
    import clarabel
    import scipy.sparse as sp

    qp = slack_program(X, y, C)
    n_rows = X.shape[0]
    slack = sp.hstack([sp.csc_matrix((n_rows, qp["first_slack"])), -sp.eye(n_rows)])
    A = sp.vstack([qp["G"], slack]).tocsc()
    limits = np.r_[qp["h"], np.zeros(n_rows)]
    upper = sp.triu(qp["P"]).tocsc()

    def fit(eps: float) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = eps
        cones = [clarabel.NonnegativeConeT(2 * n_rows)]
        return clarabel.DefaultSolver(upper, qp["cost"], A, limits, cones, settings).solve()

    def read(result: Any) -> tuple[np.ndarray, float, dict[str, Any]]:
        n_columns = X.shape[1]
        x = np.asarray(result.x)
        return x[:n_columns], float(x[n_columns]), {"iterations": int(result.iterations)}

    return Peer(fit, read)


PEERS: dict[str, Callable[[Any, np.ndarray, str, float, str], Peer]] = {
    "maxmargin": maxmargin,
    "liblinear": liblinear,
    "LinearSVC": linear_svc,
    "SVC": svc,
    "SGDClassifier": sgd,
    "LogisticRegression": logistic_regression,
    "cyanure": cyanure,
    "snapml": snapml,
    "intelex": intelex,
    "piqp": piqp,
    "clarabel": clarabel,
}
