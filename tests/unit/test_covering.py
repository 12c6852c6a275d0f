"""Covering arrays hold every pair of values that can meet, and are small; the rest of a product is slow."""

import inspect
from itertools import combinations, product

import pytest
from covering import covering_array, each_row, every_pair, every_value

SHAPES = [(5,), (4, 3), (27, 4, 3), (5, 27, 3, 4), (2, 2, 2, 2, 2, 2), (7, 1, 3)]


def pairs(cases):
    return {pair for case in cases for pair in combinations(enumerate(case), 2)}


def params(mark):
    """Return the cases that are not slow, and those that are."""
    found = [], []
    for param in mark.args[1]:
        found[bool(param.marks)].append(param.values)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pair_of_values_meets(shape):
    cases = list(product(*(range(size) for size in shape)))
    chosen = covering_array(cases)
    assert pairs(cases[number] for number in chosen) == pairs(cases)
    largest = sorted(shape)[-2:]
    assert len(chosen) <= 2 * largest[0] * largest[-1] if len(shape) > 1 else len(chosen) == shape[0]


@pytest.mark.parametrize("shape", [(5,), (4, 3)])
def test_up_to_two_factors_it_is_the_product(shape):
    cases = list(product(*(range(size) for size in shape)))
    assert covering_array(cases) == set(range(len(cases)))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_value_once_takes_as_many_cases_as_the_largest_factor(shape):
    cases = list(product(*(range(size) for size in shape)))
    chosen = [cases[number] for number in covering_array(cases, strength=1)]
    assert [len(set(values)) for values in zip(*chosen, strict=True)] == list(shape)
    assert len(chosen) == max(shape)


def test_beyond_every_value_it_is_slow():
    quick, slow = params(every_value(lambda a, b, c: a != b, a="xyz", b="xyz", c=range(4)))
    assert [set(values) for values in zip(*quick, strict=True)] == [set("xyz"), set("xyz"), set(range(4))]
    assert len(quick) < 6
    assert len(quick) + len(slow) == 24


def test_a_factor_may_be_several_arguments():
    mark = every_value(**{"n, d": [(40, 2), (200, 5)]}, seed=range(3))
    quick, slow = params(mark)
    assert mark.args[0] == ("n", "d", "seed")
    assert {values[:2] for values in quick} == {(40, 2), (200, 5)}
    assert {values[2] for values in quick} == {0, 1, 2}
    assert len(quick + slow) == 6


def test_cases_that_cannot_be_are_left_out_and_their_pairs_are_not_asked_for():
    def can_be(a, b, c):
        return a != b

    mark = every_pair(can_be, a="xyz", b="xyz", c=range(4))
    quick, slow = params(mark)
    whole = [case for case in product("xyz", "xyz", range(4)) if can_be(*case)]
    assert mark.args[0] == ("a", "b", "c")
    assert sorted(quick + slow) == sorted(whole)
    assert pairs(quick) == pairs(whole)
    assert len(quick) < len(whole)


def test_what_is_left_is_slow():
    for param in every_pair(a=range(5), b=range(4), c=range(3)).args[1]:
        assert [mark.name for mark in param.marks] in ([], ["slow"])


def test_a_product_without_a_case_is_a_mistake():
    with pytest.raises(AssertionError, match="no case is left of the product of a, b"):
        every_pair(lambda a, b: False, a=range(2), b=range(2))


def test_a_table_is_one_case_and_names_the_row_that_fails():
    seen = []

    @each_row(("number", "half"), [(2, 1), (4, 2), (6, 4), (8, 4)])
    def check(number, half, more):
        seen.append((number, more))
        assert number == 2 * half

    assert list(inspect.signature(check).parameters) == ["more"]
    with pytest.raises(AssertionError) as caught:
        check(more="fixture")
    assert caught.value.__notes__ == ["in row 2: (6, 4)"]
    assert seen == [(2, "fixture"), (4, "fixture"), (6, "fixture")]


def test_a_table_of_one_column():
    seen = []
    each_row("word", {"a": 1, "b": 2})(lambda word: seen.append(word))()
    assert seen == ["a", "b"]


def test_an_empty_table_is_a_mistake():
    with pytest.raises(AssertionError, match="the table is empty"):
        each_row("word", [])
