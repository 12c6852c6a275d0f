"""Text tables as others write them: separators, decimal commas, encodings, signs of gaps, comments."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from covering import each_row, every_value
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.stored import check_same, check_same_error

import maxmargin.io.tables.csv as batches
from maxmargin import load_data, store_data
from maxmargin.errors import FileFormatError, InvalidParameter, SkippedLines
from maxmargin.io.settings import ReadSettings

DIALECT = {"separator": ";", "decimal": ",", "text_encoding": "latin-1", "na": ["-", "-999"], "comment": "#"}
ABROAD = """\
# gemessen am 3. Mai; "in Köln
größe;ort;gewicht;gut
1,5;Köln;-999;ja   # "ein Kommentar
"-2,25";"Mü;nchen";3;nein

# 7,5;Bonn
  # noch eine; Zeile
1e3;Köln;-4,5e-1;ja
-,5;-;12;nein
"""


def load(text, **settings):
    content = text if isinstance(text, bytes) else text.encode()
    return load_data(io.BytesIO(content), format="csv", **settings)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 40)


# ---------------------------------------------------------------- all of it at once


def test_a_table_from_abroad(tmp_path, small_batches):
    path = tmp_path / "abroad.csv"
    path.write_bytes(ABROAD.encode("latin-1"))
    data = load_data(path, missing="most_frequent", **DIALECT)
    assert data.feature_names == ("größe", "ort=Köln", "ort=Mü;nchen", "gewicht")
    expected = [[1.5, 1, 0, -0.45], [-2.25, 0, 1, 3], [1000, 1, 0, -0.45], [-0.5, 1, 0, 12]]
    np.testing.assert_array_equal(data.X, expected)
    assert (data.y.tolist(), data.label) == (["ja", "nein", "ja", "nein"], "gut")
    check_same(path, tmp_path / "stored", missing="most_frequent", **DIALECT)


@each_row(
    ("line", "message"),
    [
        ("x;Köln;1;ja", ', line 10, column 1: expected a number in "größe" (field 1), found "x"'),
        ("1.5;Köln;1;ja", ', line 10, column 1: expected a number in "größe" (field 1), found "1.5"'),
        ("1;Köln;ä;ja", ', line 10, column 8: expected a number in "gewicht" (field 3), found "ä"'),
        ("1;Köln;1", ", line 10, column 9: expected 4 fields, found 3"),
        ("1;Köln;1 # ;ja", ", line 10, column 10: expected 4 fields, found 3"),
        ('1;Köln;1;"ja', ", line 10, column 10: the quote that opens here is never closed"),
    ],
)
def test_errors_keep_their_place(tmp_path, small_batches, line, message):
    path = tmp_path / "abroad.csv"
    path.write_bytes((ABROAD + line + "\n").encode("latin-1"))
    settings = DIALECT | {"missing": "mean"}
    with pytest.raises(FileFormatError) as caught:
        load_data(path, **settings)
    assert str(caught.value) == f"{path}{message}"
    check_same_error(path, tmp_path / "stored", **settings)


def test_lines_that_are_left_out_keep_their_place():
    text = "a;b;y\n1,5;2;0\n# a comment\n1,5;2.5;1\n3,5;4;1\n"
    with pytest.warns(SkippedLines, match=r"line 4, column 5: expected a number in \"b\" \(field 2\)"):
        data = load(text, decimal=",", comment="#", skip_bad_lines=True)
    assert data.X.tolist() == [[1.5, 2], [3.5, 4]]


# ---------------------------------------------------------------- against pandas


@every_value(
    separator=[",", ";", "\t", "|", " ", ":"],
    decimal=[".", ","],
    text_encoding=["utf-8", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"],
    comment=[None, "#", "%"],
    na=[None, "missing", "-1"],
    header=[True, False],
)
def test_what_pandas_writes(tmp_path, monkeypatch, separator, decimal, text_encoding, comment, na, header):
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=60).round(4),
            "b": random.choice(["é", "ß, ü", "plain"], 60),
            "c": 10.0 ** random.integers(-20, 20, 60),
            "y": random.choice(["yes", "no"], 60),
        }
    )
    frame.loc[[3, 17], "a"] = np.nan
    written = {"sep": separator, "decimal": decimal, "na_rep": na or "NA", "header": header}
    lines = frame.to_csv(index=False, **written).splitlines()
    if comment is not None:
        lines = [f"{comment} the first line", *(f"{line}{comment} {k}" for k, line in enumerate(lines))]
    path = tmp_path / "frame.csv"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(text_encoding))
    settings = {
        "separator": separator,
        "decimal": decimal,
        "text_encoding": text_encoding,
        "comment": comment,
        "na": na,
        "header": header,
        "missing": "mean",
    }
    data = load_data(path, **settings)
    np.testing.assert_allclose(data.X[:, 0], frame["a"].fillna(frame["a"].mean()), rtol=1e-14)
    np.testing.assert_array_equal(data.X[:, -1], frame["c"])
    np.testing.assert_array_equal(data.X[:, 1:-1].argmax(axis=1), pd.Categorical(frame["b"]).codes)
    assert data.y.tolist() == frame["y"].tolist()
    monkeypatch.setattr(batches, "BATCH_BYTES", 150)
    check_same(path, tmp_path / "stored", **settings)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(numbers, min_size=1, max_size=20), st.sampled_from(["r", ".3f", ".17g", ".40f"]))
@settings(max_examples=100, deadline=None)
def test_numbers_with_a_comma_are_those_with_a_point(values, form):
    texts = [repr(value) if form == "r" else format(value, form) for value in values]
    text = "a;y\n" + "".join(f"{number};{k}\n" for k, number in enumerate(texts))
    expected = [float(number) for number in texts]
    found = load(text.replace(".", ","), decimal=",").X[:, 0]
    np.testing.assert_array_equal(found.view(np.int64), np.array(expected).view(np.int64))


# ---------------------------------------------------------------- separators and decimals


def test_a_file_with_decimal_commas_says_what_to_do():
    with pytest.raises(FileFormatError, match='or say decimal="," of a text table'):
        load("a;y\n1,5;0\n2,5;1\n")


@each_row("text", ["1,5", "1.234,5", "1,234,5", "1_0", "0x1", "1,5e", "1 5"])
def test_what_is_no_number_with_a_point_or_comma(text):
    table = f"a|y\n1|0\n2|1\n{text}|1\n"
    if text == "1,5":
        assert load(table, separator="|", decimal=",").X[2, 0] == 1.5
        return
    with pytest.raises(FileFormatError, match="line 4, column 1: expected a number"):
        load(table, separator="|", decimal=",")


def test_labels_and_weights_have_the_decimal_comma():
    data = load("a;w;y\n1;0,5;1,5\n2;2;-1\n", decimal=",", weight="w")
    assert (data.y.tolist(), data.sample_weight.tolist()) == ([1.5, -1], [0.5, 2])


def test_a_separator_that_is_not_there():
    with pytest.raises(FileFormatError, match='line 1: expected fields separated by "|"'):
        load("a,b,y\n1,2,0\n", separator="|")


def test_the_separator_makes_an_unnamed_file_a_text_table(tmp_path):
    text = b"a|b|y\n1|2|0\n3|4|1\n"
    assert load_data(io.BytesIO(text), separator="|").X.tolist() == [[1, 2], [3, 4]]
    (tmp_path / "table.txt").write_bytes(text)
    assert load_data(tmp_path / "table.txt", separator="|").n_rows == 2
    assert store_data(tmp_path / "table.txt", tmp_path / "rows", separator="|").n_rows == 2


# ---------------------------------------------------------------- missing values


def test_given_signs_take_the_place_of_the_usual_ones():
    text = 'a,b,y\n1,NA,0\n.,Rome,1\n3,".",1\n'
    data = load(text, na=".", missing="mean")
    assert data.feature_names == ("a", "b=NA", "b=Rome")
    assert data.X.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]


def test_signs_count_in_capital_and_small_letters():
    assert load("a,y\nx,0\nX,1\nz,0\nz,1\n", na=["x"], missing="mean").feature_names == ("a=X", "a=z")


def test_without_signs_only_an_empty_field_is_missing():
    with pytest.raises(FileFormatError, match='line 3, column 1: expected a number in "a".*found "NA"'):
        load("a,y\n1,0\nNA,1\n2,0\n", na=[])
    with pytest.raises(FileFormatError, match="line 3, column 1.*the value is missing"):
        load("a,y\n1,0\n,1\n2,0\n", na=[])


def test_a_number_may_stand_for_a_missing_value():
    data = load("a,w,y\n1,2,0\n-999,1,1\n3,1,1\n-999.0,1,0\n", na="-999", weight="w", missing="mean")
    assert data.X[:, 0].tolist() == [1, pytest.approx(-995 / 3), 3, -999]  # as it is written, not as a number
    with pytest.raises(FileFormatError, match="line 3, column 3: .*the label is missing"):
        load("a,y\n1,0\n2,-999\n", na="-999")


# ---------------------------------------------------------------- encodings


@each_row(
    ("content", "encoding", "message"),
    [
        (b"a,y\n1,2\n3,caf\x81\n", "cp1252", ", line 3, column 6: expected text in cp1252, found 0x81; "),
        ("a,y\n1,é".encode("utf-16-le")[:-1], "utf-16-le", ", line 2, column 3: .* found 0xe9 at the end; "),
        (b"a,y\n1,2\n", "utf-16", ", line 1, column 1: expected text in utf-16, found no byte order mark; "),
        (b"a,y\n1,2\xd8\n\n", "utf-16", ", line 1, column 1: .*, found no byte order mark; "),
        (b"a,y\n1,\xe9\n", "ascii", ", line 2, column 3: expected text in ascii, found 0xe9; "),
    ],
)
def test_text_that_is_in_no_such_encoding(tmp_path, content, encoding, message):
    for name, packed in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(packed)
        with pytest.raises(FileFormatError, match=f"{name}{message}is it in another encoding"):
            load_data(path, text_encoding=encoding)
        check_same_error(path, tmp_path / "stored", text_encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "shift-jis", "utf-8"])
def test_pieces_may_end_inside_a_character(tmp_path, monkeypatch, encoding):
    import maxmargin.io.open as opening

    text = "名前,y\n" + "".join(f"山{k % 3},{k % 2}\n" for k in range(40))
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    expected = load(text)
    for size in range(5, 9):
        monkeypatch.setattr(opening, "PIECE_BYTES", size)
        found = load_data(path, text_encoding=encoding)
        assert found.feature_names == expected.feature_names
        np.testing.assert_array_equal(found.X.toarray(), expected.X.toarray())


def test_packed_text_that_is_cut_short_is_damage(tmp_path):
    path = tmp_path / "t.csv.gz"
    content = "a,y\n" + "".join(f"{k},é\n" for k in range(20_000))
    path.write_bytes(gzip.compress(content.encode("latin-1"))[:-3000])
    with pytest.raises(FileFormatError, match="the gzip file is damaged or cut short"):
        load_data(path, text_encoding="latin-1")


# ---------------------------------------------------------------- comments


def test_without_being_told_nothing_is_a_comment():
    assert load("#a,y\n1,#x\n2,y\n").label == "y"


def test_comments_around_the_names_and_at_the_end():
    text = '# one\n\n#"two\na,y # three\n1,"#x" #\n2,y#,7\n# the end'
    data = load(text, comment="#")
    assert (data.y.tolist(), data.X.tolist(), data.feature_names) == (["#x", "y"], [[1], [2]], ("a",))


def test_comments_alone_are_no_rows():
    for text in ("# nothing", "# nothing\n# at all\n", "a,y\n# nothing\n"):
        with pytest.raises(FileFormatError, match="no rows"):
            load(text, comment="#")


# ---------------------------------------------------------------- what may be said


@each_row(
    ("setting", "value", "rule"),
    [
        ("separator", ",,", "must be one ASCII character"),
        ("separator", "a", "must be one ASCII character"),
        ("separator", ".", "must be one ASCII character"),
        ("separator", '"', "must be one ASCII character"),
        ("separator", "§", "must be one ASCII character"),
        ("separator", 7, "must be one ASCII character"),
        ("comment", "//", "must be one ASCII character"),
        ("comment", ";", "must be a character that means nothing else"),
        ("decimal", ";", "must be one of ., ,"),
        ("text_encoding", "latin-99", "must be the name of an encoding"),
        ("text_encoding", "base64", "must be the name of an encoding"),
        ("text_encoding", 8, "must be the name of an encoding"),
        ("na", [1], "must be a list of texts"),
        ("na", 7, "must be a list of texts"),
    ],
)
def test_settings_are_checked(setting, value, rule):
    with pytest.raises(InvalidParameter) as caught:
        ReadSettings(**{setting: value})
    assert str(caught.value).startswith(f"{setting} {rule}")
    assert f"{setting}={value!r}" in str(caught.value)


def test_one_character_cannot_be_two_things():
    with pytest.raises(InvalidParameter, match="comment must be a character that means nothing else"):
        ReadSettings(separator="|", comment="|")


@every_value(
    name=["t.parquet", "t.arrow", "t.npy", "t.npz", "t.svm"], **{"setting, value": list(DIALECT.items())}
)
def test_they_are_for_text_tables(tmp_path, name, setting, value):
    (tmp_path / name).write_bytes(b"1 1:1\n")
    for read in (load_data, lambda path, **settings: store_data(path, tmp_path / "rows", **settings)):
        with pytest.raises(InvalidParameter, match=rf"{setting} is for (text )?tables; .*{name} is read as"):
            read(tmp_path / name, **{setting: value})


def test_a_table_in_memory_is_no_text():
    with pytest.raises(InvalidParameter, match="separator is for text tables; the DataFrame is read"):
        load_data(pd.DataFrame({"a": [1.0], "y": [0]}), separator=";")


def test_utf_8_is_the_usual_encoding():
    assert ReadSettings(text_encoding="UTF8") == ReadSettings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("a,y\n1,é\n", text_encoding="utf-8").y.tolist() == ["é"]
