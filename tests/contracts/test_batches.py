"""Online learners over batches: the calls of partial_fit that anybody would write, and nothing half done."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import every_value
from interrupts import interrupt_when
from sklearn.base import clone

from maxmargin import HingeSGD, LogisticSGD, ParquetData, Pegasos, Perceptron, _core, load_data, store_data
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter
from maxmargin.io import batches as stored_batches

LEARNERS = [Perceptron, Pegasos, HingeSGD, LogisticSGD]
AVERAGED = [Perceptron, Pegasos, LogisticSGD]


def rows(n=230, d=4, classes=2, seed=0):
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n) % classes)
    return random.normal(size=(n, d)) + y[:, None] * np.linspace(0.2, 1, d), y


def cut(X, y, size=60):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.n_updates_


class Pieces:
    """Something of the user's own that can be gone through again and again."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


WAYS = {
    "list": list,
    "re-iterable": Pieces,
    "function": lambda batches: lambda: (batch for batch in batches),
    "lists of arrays": lambda batches: [list(batch) for batch in batches],
    "weights of 1": lambda batches: [(X, y, np.ones(len(y))) for X, y in batches],
    "empty ones between": lambda batches: [
        *batches[:2],
        (batches[0][0][:0], batches[0][1][:0]),
        *batches[2:],
    ],
}


# ---------------------------------------------------------------- the same bits


@every_value(
    wrap=[np.asarray, sp.csr_array], shuffle=[False, True, "draws"], classes=[2, 3], learner=AVERAGED
)
def test_batches_are_the_same_calls_of_partial_fit(learner, classes, shuffle, wrap):
    X, y = rows(classes=classes)
    batches = cut(wrap(X), y)
    by_hand = learner(shuffle=shuffle, averaged=True, random_state=3)
    n_updates = 0
    for X, y in 2 * batches:
        by_hand.partial_fit(X, y, classes=range(classes))
        n_updates += by_hand.n_updates_
    model = learner(shuffle=shuffle, averaged=True, random_state=3, max_passes=2).fit(batches)
    assert bits(model)[:2] == bits(by_hand)[:2]
    assert model.n_updates_ == n_updates
    assert model.n_passes_ == 2
    assert model.stopped_ == "it made the 2 passes asked for"
    assert bits(model.partial_fit(*batches[0]))[:2] == bits(by_hand.partial_fit(*batches[0]))[:2]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_generator_is_one_pass_of_partial_fit(learner):
    X, y = rows(classes=3)
    by_hand = learner()
    for batch in cut(X, y):
        by_hand.partial_fit(*batch)
    model = learner().fit(batch for batch in cut(X, y))
    assert bits(model)[:2] == bits(by_hand)[:2]
    assert model.n_passes_ == 1
    assert not hasattr(model, "best_risk_")
    assert not hasattr(model, "certificate_")
    assert bits(learner(max_passes=1).fit(iter(cut(X, y)), classes=[0, 1, 2]))[:2] == bits(by_hand)[:2]


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_to_hand_them_in_are_the_same(way):
    X, y = rows()
    expected = bits(Pegasos(max_passes=3).fit(cut(X, y)))
    assert bits(Pegasos(max_passes=3).fit(WAYS[way](cut(X, y)))) == expected


SETTINGS = [
    (Perceptron, {"max_passes": 7}),
    (Perceptron, {"max_passes": 7, "pocket": True}),
    (Perceptron, {"max_updates": 33, "normalize": True}),
    (Perceptron, {"shuffle": "draws", "averaged": True, "max_passes": 3}),
    (Pegasos, {}),
    (Pegasos, {"max_updates": 501, "averaged": True, "fit_intercept": True}),
    (HingeSGD, {}),
    (HingeSGD, {"max_updates": 460}),  # two passes to the row
    (HingeSGD, {"max_updates": 500}),
    (HingeSGD, {"max_updates": 100, "count": "updates", "fit_intercept": True}),
    (HingeSGD, {"max_passes": 50, "min_improvement": 0.01}),
    (LogisticSGD, {"shuffle": True}),
]
COURSE = [
    "n_draws_",
    "n_updates_",
    "n_passes_",
    "converged_",
    "stopped_",
    "n_features_in_",
    "best_risk_",
    "mistakes_",
]


@every_value(classes=[2, 3], **{"learner, settings": SETTINGS})
def test_one_batch_is_a_fit(learner, settings, classes):
    X, y = rows(classes=classes)
    check_same_fit(learner(**settings).fit([(X, y)]), learner(**settings).fit(X, y))


@pytest.mark.parametrize("shuffle", [False, "draws"])
@pytest.mark.parametrize("pocket", [False, True])
def test_one_batch_that_can_be_separated_is_a_fit(shuffle, pocket):
    X, y = rows()
    X[:, 0] += np.where(y == 1, 9, -9)
    whole = Perceptron(shuffle=shuffle, pocket=pocket).fit(X, y)
    assert whole.converged_
    check_same_fit(Perceptron(shuffle=shuffle, pocket=pocket).fit([(X, y)]), whole)
    in_pieces = Perceptron(shuffle=shuffle, pocket=pocket).fit(cut(X, y))
    assert in_pieces.converged_
    assert in_pieces.certificate_.objective == 0
    assert str(in_pieces.certificate_) == str(in_pieces.certify(X, y))


def check_same_fit(model, whole):
    assert bits(model) == bits(whole)
    for name in COURSE:
        assert np.array_equal(getattr(model, name, None), getattr(whole, name, None)), name
    ours, theirs = (getattr(one, "mistake_indices_", []) for one in (model, whole))
    assert [np.array(one).tolist() for one in ours] == [np.array(one).tolist() for one in theirs]
    assert str(getattr(model, "certificates_", "")) == str(getattr(whole, "certificates_", ""))
    assert model.classes_.dtype == whole.classes_.dtype
    assert model.to_model().C == whole.to_model().C


def test_hinge_sgd_keeps_the_best_of_its_passes():
    X, y = rows()
    batches, sign = cut(X, y), np.where(y == 1, 1, -1)
    by_hand, ends = HingeSGD(step=0.2), []
    for _ in range(6):
        for batch in batches:
            by_hand.partial_fit(*batch)
        ends.append((np.maximum(0, 1 - sign * (X @ by_hand.coef_[0])).mean(), by_hand.coef_.tobytes()))
    model = HingeSGD(step=0.2, max_passes=6).fit(batches)
    assert model.coef_.tobytes() == min(ends)[1]
    assert min(ends)[1] != ends[-1][1]
    assert model.best_risk_ == pytest.approx(min(ends)[0], rel=1e-13)


def test_mistakes_are_numbered_over_all_batches():
    X, y = rows()
    whole = Perceptron(max_passes=1).fit(X, y)  # in the order of the rows, so batches change nothing
    assert (
        Perceptron(max_passes=1).fit(cut(X, y)).mistake_indices_.tolist() == whole.mistake_indices_.tolist()
    )


# ---------------------------------------------------------------- rows on disk, files, data frames


@every_value(wrap=[np.asarray, sp.csr_array], learner=LEARNERS)
def test_rows_on_disk(learner, wrap, tmp_path, monkeypatch):
    X, y = rows(classes=3)
    named = np.array(["low", "mid", "high"])[y]
    names = ["a", "b", "c", "d"]
    store = store_data([(wrap(X), named)], tmp_path / "rows", feature_names=names)
    whole = learner(max_passes=2).fit(wrap(X), named)
    check_same_fit(learner(max_passes=2).fit(store), whole)
    monkeypatch.setattr(stored_batches, "VALUES_AT_ONCE", 4 * 60)
    model = learner(max_passes=2).fit(tmp_path / "rows")
    by_hand = learner(max_passes=2).fit(cut(wrap(X), named))
    assert bits(model) == bits(by_hand)
    assert model.feature_names_in_.tolist() == names
    by_name = learner(max_passes=2).fit(str(tmp_path / "rows"))
    assert by_name.predict(pd.DataFrame(X, columns=names)).tolist() == by_hand.predict(wrap(X)).tolist()


def test_a_file_is_a_fit_to_what_load_data_reads(tmp_path):
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=np.where(y == 1, "yes", "no"))
    table.to_csv(tmp_path / "table.csv", index=False)
    whole = Perceptron(max_passes=3).fit(X, table["label"].to_numpy(dtype=str))
    for source in (tmp_path / "table.csv", load_data(tmp_path / "table.csv")):
        model = Perceptron(max_passes=3).fit(source)
        check_same_fit(model, whole)
        assert model.feature_names_in_.tolist() == list("abcd")
        assert model.to_model().label == "label"


def test_names_of_columns_are_checked_in_every_batch():
    X, y = rows()
    frames = [(pd.DataFrame(part, columns=list("abcd")), labels) for part, labels in cut(X, y)]
    assert Pegasos().fit(frames).feature_names_in_.tolist() == list("abcd")
    frames[2] = frames[2][0].rename(columns={"c": "e"}), frames[2][1]
    with pytest.raises(ValueError, match=r"batch 2 \(counted from 0\): The feature names should match"):
        Pegasos().fit(frames)


# ---------------------------------------------------------------- classes


def test_classes_are_found_by_a_first_reading():
    X, y = rows(classes=3)
    order = np.argsort(y, kind="stable")
    batches = cut(X[order], y[order])  # one class after the other
    readings = []

    def begin():
        readings.append(1)
        return iter(batches)

    model = Pegasos(max_passes=2).fit(begin)
    assert model.classes_.tolist() == [0, 1, 2]
    assert len(readings) == 3
    named = Pegasos(max_passes=2).fit(begin, classes=[2, 0, 1])
    assert len(readings) == 5
    assert bits(named) == bits(model)
    with pytest.raises(InvalidInput, match=r"batch 0 .*: y holds only one class, 0, .*name all classes"):
        Pegasos().fit(iter(batches))
    with pytest.raises(InvalidInput, match=r"batch 1 .*: y\[17\] is 1, which is none of the classes 0, 2"):
        Pegasos().fit(batches, classes=[0, 2])


def test_classes_of_one_kind():
    X, y = rows()
    batches = cut(X, y)
    batches[3] = batches[3][0], batches[3][1].astype(str)
    with pytest.raises(InvalidInput, match=r"batch 3 .*: y holds labels such as '0', and .* before it 0"):
        Pegasos().fit(batches)
    with pytest.raises(InvalidInput, match="the batches hold only one class, 1"):
        Pegasos().fit([(X, np.ones(len(y), dtype=int))])
    with pytest.raises(InvalidParameter, match="classes must name at least two classes; got \\[1\\]"):
        Pegasos().fit(batches, classes=[1, 1])
    with pytest.raises(InvalidParameter, match="classes is for batches"):
        Pegasos().fit(X, y, classes=[0, 1])


# ---------------------------------------------------------------- what is refused, and changes nothing

X0, Y0 = rows(n=20)
BAD = {
    "no pair": (X0, r"batch 2 \(counted from 0\) must be \(X, y\) or .*; got ndarray of shape \(20, 4\)"),
    "four parts": ((X0, Y0, None, None), r"batch 2 .*; got a tuple of 4"),
    "NaN": ((np.where(X0[3, 1] == X0, np.nan, X0), Y0), r"batch 2 .*: X contains NaN: row 3, column 1"),
    "width": ((X0[:, :3], Y0), r"batch 2 .*: X has 3 features, but \w+ is expecting 4 features"),
    "lengths": ((X0, Y0[:9]), r"batch 2 .*: .*X has 20 rows, y has 9 labels"),
    "no labels": ((X0, None), r"batch 2 .*: .*y"),
    "a new class": ((X0, Y0 + 1), r"batch 2 .*: y\[\d+\] is 2, which is none of the classes 0, 1"),
    "weights": (
        (X0, Y0, 2 * np.ones(20)),
        r"batch 2 .*: sample_weight\[0\] is 2, .* Repeat the rows instead",
    ),
    "overflow": ((1e307 * X0, Y0), r"batch 2 .*: .*(overflow|large|finite)"),
}


@every_value(learner=LEARNERS, bad=BAD)
def test_a_bad_batch_is_named_and_changes_nothing(bad, learner):
    batch, message = BAD[bad]
    good = cut(*rows())
    batches = [*good[:2], batch, *good[2:]]
    new = learner(max_passes=2)
    with pytest.raises((ValueError, TypeError), match=message):
        new.fit(batches, classes=[0, 1])
    assert vars(new) == vars(clone(new))
    fitted = learner(max_passes=1).fit(pd.DataFrame(X0[:, :2], columns=["a", "b"]), Y0)
    before = dict(vars(fitted))
    with pytest.raises((ValueError, TypeError), match=message):
        fitted.fit(iter(batches), classes=[0, 1])
    assert all(vars(fitted)[name] is value for name, value in before.items())
    assert set(vars(fitted)) == set(before)


def test_an_error_of_the_users_own_says_where_it_happened():
    def broken():
        yield from cut(*rows())[:3]
        raise RuntimeError("the network is gone")

    with pytest.raises(RuntimeError, match="the network is gone") as caught:
        Pegasos().fit(broken(), classes=[0, 1])
    assert caught.value.__notes__ == ["while batch 3 (counted from 0) was read"]


def test_what_can_be_read_only_once_is_read_once():
    X, y = rows()
    with pytest.raises(InvalidParameter, match="max_passes=5 needs batches that can be begun again"):
        Pegasos(max_passes=5).fit(iter(cut(X, y)))
    with pytest.raises(InvalidParameter, match="pocket=True measures weights on all rows"):
        Perceptron(pocket=True).fit(iter(cut(X, y)))
    with pytest.raises(InvalidParameter, match="min_improvement measures weights on all rows"):
        HingeSGD(min_improvement=0.1).fit(iter(cut(X, y)))
    once = iter(cut(X, y))
    with pytest.raises(InvalidInput, match="the batches gave no row. What can be read only once"):
        Pegasos().fit(lambda: once)
    model = Pegasos(max_updates=10**6).fit(iter(cut(X, y)))
    assert model.stopped_ == "the batches came to an end, and they can be read only once"
    left = iter(cut(X, y))
    assert Pegasos(max_updates=70).fit(left).stopped_ == "it looked at the 70 examples asked for"
    assert len(list(left)) == 2  # the rest is left alone


def test_what_takes_all_rows_at_once_is_refused():
    batches = cut(*rows())
    with pytest.raises(InvalidParameter, match="trace=True keeps the rows"):
        Pegasos(trace=True).fit(batches)
    with pytest.raises(InvalidParameter, match="evaluate_every=10 reads all rows between two examples"):
        HingeSGD(evaluate_every=10).fit(batches)
    for nothing in ([], iter([]), list):
        with pytest.raises(InvalidInput, match="there is no batch"):
            Pegasos().fit(nothing)
    with pytest.raises(InvalidInput, match="a function that makes batches must return .*; got int"):
        Pegasos().fit(lambda: 3)
    with pytest.raises(InvalidInput, match=r"batch 0 .* got a list of 2. For one table of rows call fit"):
        Pegasos().fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="y"):
        Pegasos().fit(X0)
    with pytest.raises(InvalidParameter, match="a ParquetData is read by the workers of a cluster"):
        Pegasos().fit(ParquetData("somewhere.parquet", label="y"))


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a thread")
@pytest.mark.parametrize("learner", LEARNERS)
def test_ctrl_c_keeps_what_was_learned(learner, monkeypatch):
    batches = cut(*rows(n=3000, d=20, classes=3), size=500)
    sweep, sweeps = _core.online_sweep, []
    monkeypatch.setattr(_core, "online_sweep", lambda *given: (sweep(*given), sweeps.append(1)))
    model = learner(max_passes=10**9, step=0.1)
    with (
        interrupt_when(lambda: len(sweeps) > 0),
        pytest.raises(Interrupted, match="it keeps what was learned so far") as caught,
    ):
        model.fit(batches)
    assert caught.value.model.coef.shape == model.coef_.shape == (3, 20)
    assert model.coef_[0].any()
    assert model.stopped_ == "it was interrupted"


def test_ctrl_c_while_a_batch_is_made():
    batches = cut(*rows())

    def interrupted_after(count):
        yield from batches[:count]
        raise KeyboardInterrupt

    model = Pegasos()
    with pytest.raises(Interrupted):
        model.fit(interrupted_after(2), classes=[0, 1])
    by_hand = Pegasos().partial_fit(*batches[0]).partial_fit(*batches[1])
    assert bits(model)[:2] == bits(by_hand)[:2]
    untouched = Pegasos()
    with pytest.raises(KeyboardInterrupt):
        untouched.fit(interrupted_after(0), classes=[0, 1])
    assert vars(untouched) == vars(Pegasos())
