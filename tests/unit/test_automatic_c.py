"""Splits without scikit-learn, beside scikit-learn's; and which way C is judged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.search.automatic import choose_way, stratified_splits


@given(st.lists(st.integers(0, 3), min_size=8, max_size=80), st.integers(2, 8), st.integers(0, 2**64 - 1))
def test_every_row_is_held_out_once_and_classes_keep_their_shares(labels, n_splits, seed):
    codes = np.array(labels)
    splits = stratified_splits(codes, n_splits, seed)
    assert len(splits) == n_splits
    held_out = np.concatenate([held for _, held in splits])
    np.testing.assert_array_equal(np.sort(held_out), np.arange(len(codes)))
    for train, held in splits:
        np.testing.assert_array_equal(np.sort(np.append(train, held)), np.arange(len(codes)))
    counts = np.array([np.bincount(codes[held], minlength=4) for _, held in splits])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    sizes = counts.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


def test_splits_are_as_even_as_those_of_scikit_learn():
    codes = np.repeat([0, 1, 2], [37, 11, 5])
    ours = [np.bincount(codes[held], minlength=3) for _, held in stratified_splits(codes, 5)]
    peers = StratifiedKFold(5).split(codes, codes)
    theirs = [np.bincount(codes[held], minlength=3) for _, held in peers]
    assert sorted(map(tuple, np.sort(ours, axis=0))) == sorted(map(tuple, np.sort(theirs, axis=0)))


def test_another_seed_deals_otherwise():
    codes = np.repeat([0, 1], 50)
    one, other = (stratified_splits(codes, 5, seed)[0][1].tolist() for seed in (0, 1))
    assert one != other
    assert one == stratified_splits(codes, 5, 0)[0][1].tolist()


@pytest.mark.parametrize(
    ("counts", "n_splits", "reason"),
    [
        ([100, 100], 0, "exact, and quick for 200 rows"),
        ([4000, 1001], 5, "quicker than leaving each of 5,001 rows out"),
        ([5000, 3], 3, "quicker than leaving each of 5,003 rows out"),
        ([5000, 1], 0, "the smaller class has one row, which no fold could do without"),
        ([300, 300, 300], 0, "exact, and quick for 900 rows"),
        ([500, 500, 1], 5, "quicker than leaving each of 1,001 rows out"),
    ],
)
def test_the_way_suits_the_rows(counts, n_splits, reason):
    way = choose_way(np.repeat(np.arange(len(counts)), counts))
    assert (way.n_splits, way.reason) == (n_splits, reason)


def test_the_way_may_be_asked_for():
    y = np.repeat([0, 1], [3, 5])
    assert str(choose_way(y, "loo")) == "leave-one-out"
    assert str(choose_way(y, 3)) == "3 folds"
    with pytest.raises(InvalidParameter, match="2 folds or more; got 0"):
        choose_way(y, 0)
    with pytest.raises(InvalidInput, match="9 folds of 8 rows"):
        choose_way(y, 9)
    with pytest.raises(InvalidInput, match="one class has one row only"):
        choose_way(np.array([0, 1, 1, 1]), 2)
