"""Text tables put on disk as rows: the bits that load_data reads, in batches of a few records."""

import bz2
import gzip
import lzma
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from covering import each_row, every_value
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.stored import check_same, check_same_error, dense_rows

import maxmargin.io.tables.csv as module
import maxmargin.io.tables.csv_text as records
from maxmargin import load_data, store_data, train
from maxmargin._core import CsvDialect
from maxmargin.errors import FileFormatError, MissingFile, SkippedLines
from maxmargin.io.tables.csv_text import whole_records


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(module, "BATCH_BYTES", 300)


def people(n=400):
    random = np.random.default_rng(3)
    town = random.choice(["Rome", "Oslo", "Bern"], n)
    town[-1] = "Wien, Hofburg"  # seen in the last batch only, and in quotes
    age = random.integers(20, 80, n)
    height = random.normal(170, 10, n)
    rich = np.where(age + 20 * (town == "Oslo") + 9 * random.normal(size=n) > 55, "yes", "no")
    married = random.choice(["true", "False"], n)
    weight = random.integers(1, 4, n).astype(float)
    columns = {"age": age, "town": town, "married": married, "height": height}
    return pd.DataFrame(columns | {"weight": weight, "rich": rich})


def written(folder, frame, name="people.csv", **options):
    path = folder / name
    frame.to_csv(path, index=False, **options)
    return path


# ---------------------------------------------------------------- the same values


def test_numbers_are_pandas_own(tmp_path):
    frame = people()[["age", "height", "rich"]]
    store, _ = check_same(written(tmp_path, frame), tmp_path / "stored")
    np.testing.assert_array_equal(dense_rows(store), frame[["age", "height"]].to_numpy(float))
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], frame["rich"])


def test_categories_are_pandas_dummies(tmp_path):
    frame = people()
    store, _ = check_same(written(tmp_path, frame), tmp_path / "stored", weight="weight")
    dummies = pd.get_dummies(frame[["town"]], prefix_sep="=", dtype=float)
    assert store.feature_names[1:5] == tuple(dummies.columns)
    np.testing.assert_array_equal(dense_rows(store)[:, 1:5], dummies)
    np.testing.assert_array_equal(dense_rows(store)[:, 5], frame["married"] == "true")
    np.testing.assert_array_equal(store.arrays["weights"], frame["weight"])


@each_row(
    "reading",
    [
        {"drop": ["height"]},
        {"categories": ["age"]},
        {"label": "married"},
        {"label": -1, "weight": 4},
        {"label": "town", "drop": ["rich"]},
        {"n_columns": 8},
    ],
)
def test_settings_mean_the_same(tmp_path, reading):
    check_same(written(tmp_path, people()), tmp_path / "stored", **reading)


@every_value(end=["\n", "\r\n"], header=[True, False], sep=[",", ";", "\t"])
def test_separators_headers_and_line_ends(tmp_path, sep, header, end):
    path = written(tmp_path, people(), sep=sep, header=header, lineterminator=end)
    check_same(path, tmp_path / "stored")


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_packed_text(tmp_path, suffix, pack):
    content = written(tmp_path, people()).read_bytes()
    path = tmp_path / f"people.csv{suffix}"
    path.write_bytes(pack.compress(content))
    check_same(path, tmp_path / "stored")
    path.write_bytes(pack.compress(content)[:-20])
    assert "damaged or cut short" in check_same_error(path, tmp_path / "other")


def test_an_earlier_table_says_how_to_read(tmp_path):
    path = written(tmp_path, people())
    encoding = load_data(path).encoding
    check_same(written(tmp_path, people().sample(100, random_state=1)), tmp_path / "a", encoding=encoding)
    frame = people(50)
    frame.loc[40, "town"] = "Paris"
    other = written(tmp_path, frame)
    assert '"Paris" was not in the training table' in check_same_error(
        other, tmp_path / "b", encoding=encoding
    )
    check_same(other, tmp_path / "b", encoding=encoding, unknown="zeros")


@every_value(gaps=[1, 7, 150], rule=["mean", "median", "most_frequent"])
def test_missing_values_are_replaced_by_the_same_bits(tmp_path, rule, gaps):
    """Sums are added in the order in which a table in memory adds them."""
    frame = people(3001)
    random = np.random.default_rng(gaps)
    for name in ("age", "height", "town", "married"):
        frame.loc[random.choice(3001, gaps, replace=False), name] = None
    frame["height"] = frame["height"].round(1)
    store, _ = check_same(written(tmp_path, frame), tmp_path / "stored", missing=rule)
    if rule != "most_frequent":
        fill = {column.name: column.fill for column in store.encoding.columns}
        assert fill["height"] == pytest.approx(getattr(frame["height"], rule)(), rel=1e-14)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "stored"]


def test_sparse_rows_where_categories_leave_most_values_zero(tmp_path):
    frame = pd.DataFrame({"k": np.arange(500) % 40, "x": np.arange(500) / 7, "y": np.arange(500) % 3})
    store, _ = check_same(written(tmp_path, frame), tmp_path / "stored", categories=["k"])
    assert store.is_sparse


# ---------------------------------------------------------------- what only the whole tells


def table(folder, lines, name="t.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_text_among_numbers_is_text_if_there_is_more_of_it(tmp_path):
    """The first lines look like numbers; at the end most of the column is text."""
    numbers, texts = (f"{row % 5},{row},0" for row in range(150)), (f"x{row % 3},1,1" for row in range(400))
    lines = ["a,b,y", *numbers, *texts]
    store, _ = check_same(table(tmp_path, lines), tmp_path / "stored")
    assert store.feature_names[:6] == ("a=0", "a=1", "a=2", "a=3", "a=4", "a=x0")


def test_a_column_that_begins_as_text_may_be_numbers(tmp_path):
    lines = ["a,y", *["? ,0"] * 3, *["red,0"] * 110, *["1.5,1"] * 900]
    assert 'line 5, column 1: expected a number in "a"' in check_same_error(
        table(tmp_path, lines), tmp_path / "stored"
    )


def test_one_text_makes_all_labels_text(tmp_path):
    lines = ["a,y", *(f"{row},{row % 2}.0" for row in range(300)), "7,2.0x"]
    store, _ = check_same(table(tmp_path, lines), tmp_path / "stored")
    assert store.classes.tolist() == ["0.0", "1.0", "2.0x"]
    lines.insert(150, "7,inf")
    store, _ = check_same(table(tmp_path, lines), tmp_path / "stored")
    assert store.classes.tolist() == ["0.0", "1.0", "2.0x", "inf"]


def test_truth_values_of_which_one_kind_comes_late(tmp_path):
    lines = ["a,b,y", *(f"{row},true,{row % 2}" for row in range(200)), "1,FALSE,0"]
    store, _ = check_same(table(tmp_path, lines), tmp_path / "stored")
    assert store.n_columns == 2


@pytest.mark.filterwarnings("ignore::maxmargin.errors.SkippedLines")
@settings(max_examples=150, deadline=None)
@given(
    fields=st.lists(
        st.lists(
            st.sampled_from(
                ["1", "-2.5", "x", '"a b"', '"say ""no"""', '"two\nlines"', "?", " 3 ", '5"', "é"]
            ),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=30,
    ),
    size=st.integers(1, 60),
    skip=st.booleans(),
)
def test_any_table_cut_anywhere_is_the_table(tmp_path_factory, fields, size, skip):
    folder = tmp_path_factory.mktemp("csv")
    path = folder / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{row % 2}\n" for row, (a, b) in enumerate(fields)))
    reading = {"missing": "most_frequent", "skip_bad_lines": skip}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_BYTES", size)
        try:
            load_data(path, **reading)
        except FileFormatError:
            check_same_error(path, folder / "stored", **reading)
        else:
            check_same(path, folder / "stored", **reading)


# ---------------------------------------------------------------- mistakes


@each_row(
    ("line", "message"),
    [
        ("1,2", "line 300, column 4: expected 4 fields, found 2"),
        ("1,x,3,0", 'line 300, column 3: expected a number in "b" (field 2), found "x"'),
        ("1,,3,0", 'line 300, column 3: "b" (field 2): the value is missing; missing="median" replaces it'),
        ("1,inf,3,0", 'line 300, column 3: expected a finite number in "b"'),
        ("1,2,3,", 'line 300, column 7: "y" (field 4): the label is missing'),
        ("1,2,3,nan", "the label is missing"),
        ("1,2,3,inf", 'line 300, column 7: expected a finite number, found "inf"'),
        ('1,"2,3,0', "line 300, column 3: the quote that opens here is never closed"),
        ('1,"2"x,3,0', "line 300, column 6: expected the separator after a closing quote"),
    ],
)
def test_errors_name_the_line_of_the_file(tmp_path, line, message):
    lines = ["a,b,c,y", *(f"{row},2,é,{row % 2}" for row in range(400))]
    lines[299] = line.replace(",3", ",é")
    assert message in check_same_error(table(tmp_path, lines), tmp_path / "stored", drop=["c"])


@pytest.mark.parametrize(
    ("weight", "message"), [("-1", "found -1"), ("", "found nothing"), ("much", "found ")]
)
def test_errors_in_weights_name_the_line(tmp_path, weight, message):
    lines = ["a,w,y", *(f"{row},2,{row % 2}" for row in range(400))]
    lines[250] = f"1,{weight},0"
    assert message in check_same_error(table(tmp_path, lines), tmp_path / "stored", weight="w")
    lines = ["a,w,y", *(f"{row},{int(row == 399)},{row % 2}" for row in range(400))]
    check_same(table(tmp_path, lines), tmp_path / "stored", weight="w")  # most batches weigh nothing


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda row: f"2024-01-{row % 28 + 1}", "looks like a date"),
        (lambda row: f"person {row}", "has 400 different texts in 400 rows"),
        (lambda row: f'"{row},5"', "looks like a number with a decimal comma"),
        (lambda row: "", "the value is missing"),
    ],
)
def test_columns_that_are_no_features(tmp_path, column, message):
    lines = ["a,b,y", *(f"{row},{column(row)},{row % 2}" for row in range(400))]
    assert message in check_same_error(table(tmp_path, lines), tmp_path / "stored")
    check_same_error(table(tmp_path, ["a,b,y", "1,,0", "2,,1"]), tmp_path / "stored", missing="mean")


def test_the_kind_of_mistake_decides_which_is_told_first(tmp_path):
    """As in memory: a missing value of the last rows comes before a missing label of the first ones."""
    lines = ["a,b,y", "1,x,", *(f"{row},x,{row % 2}" for row in range(400)), ",x,1"]
    assert "line 403" in check_same_error(table(tmp_path, lines), tmp_path / "stored")


@pytest.mark.parametrize("lines", [[""], ["a,b,y"], ["a,b,y", "", "  "], ["only one column", "1"]])
def test_tables_without_rows(tmp_path, lines):
    check_same_error(table(tmp_path, lines), tmp_path / "stored")


def test_bad_lines_are_counted_over_all_batches(tmp_path):
    lines = ["a,b,y", *(f"{row},2,{row % 2}" for row in range(400))]
    lines[77], lines[333] = "1,2", '"1"2,2,0'
    path = table(tmp_path, lines)
    with pytest.warns(SkippedLines) as told:
        store, _ = check_same(path, tmp_path / "stored", skip_bad_lines=True)
    assert store.n_rows == 398
    assert len(told) == 2  # one by each of the two readers
    assert str(told[0].message) == str(told[1].message)


@pytest.mark.filterwarnings("ignore::maxmargin.errors.SkippedLines")
@every_value(
    **{
        "lines, features, labels": [
            # The second line has text among numbers: neither its label nor its first field says anything.
            (["a,b,y", "1,2,1", "x,x,x", "2,3,2", "3,5,1"], ("a", "b"), [1, 2, 1]),
            (["a,b,y", "1,2,1", "2,x,inf", "2,3,2", "3,5,1"], ("a", "b"), [1, 2, 1]),
            # Without the two lines with text in the first column, the second has more numbers than texts.
            (["a,b,y", "1,2,u", "x,r,v", "x,s,v", "2,t,u", "3,4,v"], ("a", "b"), ["u", "v"]),
            (["a,b,y", "1,2,1", "x\xe4,red,q", "x,3,2", "u,5,1"], ("a=1", "a=u", "a=x", "b"), [1, 2, 1]),
        ]
    },
    size=[12, 300],
)
def test_lines_that_are_left_out_decide_nothing(tmp_path, monkeypatch, size, lines, features, labels):
    monkeypatch.setattr(module, "BATCH_BYTES", size)
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(lines).encode("latin-1") + b"\n")
    store, data = check_same(path, tmp_path / "stored", skip_bad_lines=True)
    assert store.feature_names == features
    assert data.y.tolist() == labels


def test_a_quote_that_never_closes_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LONGEST_RECORD", 3000)
    lines = ["a,y", *(f"{row},{row % 2}" for row in range(100)), '"7,1', *("8,0" for _ in range(5000))]
    path = table(tmp_path, lines)
    with pytest.raises(FileFormatError, match="line 102, column 1: a record is longer than"):
        store_data(path, tmp_path / "stored")
    with pytest.warns(SkippedLines, match="1 line was skipped: line 102, column 1"):
        store = store_data(path, tmp_path / "stored", skip_bad_lines=True)
    assert store.n_rows == 5100


def test_a_file_that_changes_between_two_readings_is_noticed(tmp_path, monkeypatch):
    path = written(tmp_path, people())
    read, readings = module.CsvSource.read, []

    def changing(source):
        readings.append(source)
        if len(readings) == 2:
            path.write_text(path.read_text().replace("Rome", "Bern"))
        return read(source)

    monkeypatch.setattr(module.CsvSource, "read", changing)
    with pytest.raises(FileFormatError.__mro__[1], match="was changed while it was being read"):
        store_data(path, tmp_path / "stored")
    assert not (tmp_path / "stored").exists()


def test_a_wrong_target_is_refused_before_anything_is_read(tmp_path):
    path = written(tmp_path, people())
    with pytest.raises(MissingFile, match="there is no folder"):
        store_data(path, tmp_path / "nowhere" / "stored", missing="mean")


# ---------------------------------------------------------------- little memory


def test_long_heads_and_long_records(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "HEAD_BYTES", 10)
    check_same(written(tmp_path, people(30)), tmp_path / "stored")
    text = "\n\n \n" + people(30).to_csv(index=False)
    path = tmp_path / "blank.csv"
    path.write_text(text)
    check_same(path, tmp_path / "stored")
    path.write_bytes(b"\xef\xbb\xbf" + text.strip().encode())
    check_same(path, tmp_path / "stored")


def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH_BYTES", 1 << 16)
    monkeypatch.setattr(records, "HEAD_BYTES", 1 << 16)
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(20_000, 10)).round(6)).assign(y=np.arange(20_000) % 2)
    path = written(tmp_path, frame)
    store_data(path, tmp_path / "stored")
    tracemalloc.start()
    store_data(path, tmp_path / "stored", missing="mean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * path.stat().st_size


def test_pieces_are_the_text(tmp_path):
    import io

    text = b'1,"a\nb"\n' * 50 + b"2,c"
    pieces = list(whole_records(io.BytesIO(text), tmp_path, CsvDialect(","), 13))
    assert b"".join(pieces) == text
    assert all(piece.endswith(b'"\n') for piece in pieces[:-1])


def test_a_model_of_the_stored_table_is_that_of_the_table(tmp_path):
    path = written(tmp_path, people())
    solver = {"loss": "logistic", "solver": "newton", "tol": 1e-8}
    store, data = check_same(path, tmp_path / "stored", weight="weight")
    found, expected = train(store, **solver), train(data, **solver)
    np.testing.assert_array_equal(found.coef, expected.coef)
    assert (found.label, found.scheme, found.encoding) == (expected.label, expected.scheme, expected.encoding)


def test_labels_of_too_many_digits_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{k},{2**53 + k % 2}\n" for k in range(100)]
    path.write_text("a,y\n" + "".join(rows))
    assert "cannot be told from its neighbours" in str(check_same_error(path, tmp_path / "stored"))
    path.write_text("a,y\n" + "".join(rows) + "7,other\n")
    check_same(path, tmp_path / "stored")
