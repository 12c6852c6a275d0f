"""Who takes part: our own solver and its peers, with the settings that each is tried at, cheapest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Entrant",
    "exact_peers",
    "hinge_peers",
    "logistic_peers",
    "ours",
    "squared_hinge_peers",
]


@dataclass(frozen=True)
class Entrant:
    """A solver in a benchmark.

    Attributes
    ----------
    title : str
    peer : str
        A name in `peers.PEERS`.
    package : str
        Whose version is published.
    offset : str
        "free", "penalized" or "none": which problem it solves.
    ladder : tuple of settings
        From loose to tight; the first that reaches the target counts.
    variants : tuple of (form of the rows, threads)
        The most accurate first; the others are tried if that one gets there, and the fastest counts.
    """

    title: str
    peer: str
    package: str
    offset: str
    ladder: tuple[dict[str, Any], ...]
    variants: tuple[tuple[str, int], ...]


def each(name: str, values: tuple[Any, ...], **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple({name: value, **more} for value in values)


def ours(target: float, *forms: str, solver: str = "auto", offset: str = "free") -> Entrant:
    """Return maxmargin with a tolerance that is the target itself, on two threads."""
    title = "maxmargin" if solver == "auto" else f"maxmargin, {solver.replace('_', ' ')}"
    ladder = ({"tol": target, "solver": solver, "n_jobs": 2},)
    return Entrant(title, "maxmargin", "maxmargin", offset, ladder, tuple((form, 2) for form in forms))


LIBLINEAR_E = (3.0, 1.0, 0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
TOLERANCES = tuple(float(f"{digit}e-{power}") for power in range(1, 9) for digit in (3, 1))
ONE_AND_TWO = (("dense64", 1), ("dense64", 2))


def liblinear(s: int, ladder: tuple[float, ...] = LIBLINEAR_E) -> Entrant:
    settings = each("e", ladder, s=s)
    return Entrant(
        f"LIBLINEAR -s {s}", "liblinear", "liblinear-official", "penalized", settings, (("csr64", 1),)
    )


def linear_svc(dual: bool) -> Entrant:
    title = f"scikit-learn LinearSVC(dual={dual})"
    steps = ((0.1, 100), (0.1, 300), (0.1, 1000), (1e-2, 1000), (1e-3, 3000), (1e-4, 10_000), (1e-6, 100_000))
    ladder = tuple({"tol": tol, "max_iter": limit, "dual": dual} for tol, limit in steps)
    return Entrant(title, "LinearSVC", "scikit-learn", "penalized", ladder, (("csr64", 1), ("dense64", 1)))


def sgd() -> Entrant:
    ladder = (*each("max_iter", (5, 20, 100)), *each("max_iter", (20, 100, 300), average=True))
    return Entrant(
        "scikit-learn SGDClassifier", "SGDClassifier", "scikit-learn", "free", ladder, (("dense64", 1),)
    )


def snapml() -> Entrant:
    ladder = tuple({"tol": tol, "max_iter": 10_000, "n_jobs": 2} for tol in TOLERANCES)
    return Entrant("Snap ML", "snapml", "snapml", "penalized", ladder, (("dense32", 2), ("csr32", 2)))


def cyanure() -> Entrant:
    ladder = tuple({"tol": tol, "max_iter": 5000, "n_threads": 2} for tol in TOLERANCES)
    return Entrant(
        "cyanure", "cyanure", "cyanure", "free", ladder, (("dense64", 2), ("csr64", 2), ("dense32", 2))
    )


def scikit_learn_logistic(solver: str, max_iter: int, tolerances: tuple[float, ...]) -> Entrant:
    ladder = each("tol", tolerances, solver=solver, max_iter=max_iter)
    variants = (*ONE_AND_TWO, ("csr64", 1)) if solver == "lbfgs" else ONE_AND_TWO
    return Entrant(f"scikit-learn {solver}", "LogisticRegression", "scikit-learn", "free", ladder, variants)


def intelex() -> Entrant:
    ladder = each(
        "tol", (1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, *TOLERANCES), solver="lbfgs", max_iter=20_000
    )
    return Entrant(
        "scikit-learn-intelex lbfgs", "intelex", "scikit-learn-intelex", "free", ladder, (("dense64", 2),)
    )


def hinge_peers() -> list[Entrant]:
    """Return who solves the hinge loss; cyanure has none."""
    return [liblinear(3), linear_svc(True), snapml(), sgd()]


def exact_peers() -> list[Entrant]:
    """Return who solves the hinge loss with a free offset."""
    accuracies = each("eps", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8))
    return [
        Entrant("PIQP", "piqp", "piqp", "free", accuracies, (("csr64", 1),)),
        Entrant("Clarabel", "clarabel", "clarabel", "free", accuracies, (("csr64", 1),)),
        Entrant(
            'scikit-learn SVC(kernel="linear")',
            "SVC",
            "scikit-learn",
            "free",
            each("tol", (1e-1, 1e-2, 1e-3)),
            (("csr64", 1), ("dense64", 1)),
        ),
    ]


def logistic_peers() -> list[Entrant]:
    """Return who solves the logistic loss; LIBLINEAR and Snap ML penalise the offset."""
    return [
        scikit_learn_logistic("newton-cholesky", 1000, (1.0, *TOLERANCES)),
        scikit_learn_logistic("lbfgs", 20_000, (1.0, *TOLERANCES)),
        cyanure(),
        intelex(),
        snapml(),
        liblinear(0, (1.0, *TOLERANCES)),
    ]


def squared_hinge_peers() -> list[Entrant]:
    """Return who solves the squared hinge loss."""
    return [
        liblinear(2, (1.0, *TOLERANCES)),
        liblinear(1),
        linear_svc(False),
        cyanure(),
        snapml(),
    ]
