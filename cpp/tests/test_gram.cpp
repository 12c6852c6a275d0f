// Weighted Gram matrices against plain loops in long double: every storage, odd sizes, rows left out.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/gram.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Numbers = std::vector<double>;

Numbers some_numbers(std::int64_t n, double step) {
    Numbers numbers(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = std::sin(step * static_cast<double>(k + 1));
    return numbers;
}

// Every other weight or so is 0; the others lie between 0 and 1.
Numbers some_weights(std::int64_t n) {
    Numbers h = some_numbers(n, 0.7);
    for (double& weight : h) weight = std::fmax(weight, 0.0);
    return h;
}

struct Expected {
    std::vector<long double> sums, magnitudes;
};

Expected plain_gram(const Matrix& m, const Numbers& h, const double* shift) {
    const std::int64_t size = m.columns + 1;
    Expected expected{std::vector<long double>(static_cast<std::size_t>(size * size), 0.0L), {}};
    expected.magnitudes = expected.sums;
    std::vector<long double> row(static_cast<std::size_t>(size), 1.0L);
    for (std::int64_t r = 0; r < m.rows; ++r) {
        const long double weight = h[static_cast<std::size_t>(r)];
        if (weight == 0) continue;
        for (std::int64_t j = 0; j < m.columns; ++j)
            row[static_cast<std::size_t>(j)] =
                static_cast<long double>(m.at(r, j)) - (shift == nullptr ? 0.0L : shift[j]);
        for (std::size_t i = 0; i < row.size(); ++i) {
            for (std::size_t j = 0; j < row.size(); ++j) {
                expected.sums[i * row.size() + j] += weight * row[i] * row[j];
                expected.magnitudes[i * row.size() + j] += std::fabs(weight * row[i] * row[j]);
            }
        }
    }
    return expected;
}

// Within `tolerance` of the sum of magnitudes, and the same bits in both triangles.
void check_close(const Numbers& found, const Expected& expected, std::int64_t size, double tolerance) {
    double worst = 0;
    bool symmetric = true;
    for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t j = 0; j < size; ++j) {
            const std::size_t at = static_cast<std::size_t>(i * size + j);
            const long double off = std::fabs(found[at] - expected.sums[at]);
            worst = std::fmax(worst, static_cast<double>(off / (1e-300L + expected.magnitudes[at])));
            symmetric &= found[at] == found[static_cast<std::size_t>(j * size + i)];
        }
    }
    CHECK(worst <= tolerance);
    CHECK(symmetric);
}

Numbers gram_of(const Block& block, const Numbers& h, const double* shift, bool single = false) {
    NeverStop never;
    Numbers found(static_cast<std::size_t>((block.n_columns + 1) * (block.n_columns + 1)), 0.0);
    CHECK(weighted_gram(block, h.data(), shift, single, found.data(), never));
    return found;
}

}  // namespace

TEST("Gram matrices of every storage agree with plain loops") {
    for (const auto& [n, d] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {5, 2}, {9, 3}, {130, 4}, {127, 5}, {300, 11}, {700, 19}, {260, 37}, {90, 101}}) {
        const Matrix m(n, d);
        const Numbers h = some_weights(n), shift = some_numbers(d, 1.3);
        const Expected plain = plain_gram(m, h, nullptr), centred = plain_gram(m, h, shift.data());
        for (const Stored& stored : every_storage(m)) {
            check_close(gram_of(stored.block, h, nullptr), plain, d + 1, 1e-15 * static_cast<double>(n + 20));
            // Sparse rows are centred at the end, and lose what the shift cancels.
            check_close(gram_of(stored.block, h, shift.data()), centred, d + 1, 1e-12);
        }
    }
}

TEST("every number of columns up to some panels") {
    for (std::int64_t d = 1; d <= 80; ++d) {
        const Matrix m(150, d);
        const Numbers h = some_weights(150), shift = some_numbers(d, 0.3);
        const Expected expected = plain_gram(m, h, shift.data());
        const Stored wide = dense<double>("", m, Scalar::f64, d, 1),
                     narrow = dense<float>("", m, Scalar::f32, d + 1, 1);
        check_close(gram_of(wide.block, h, shift.data()), expected, d + 1, 1e-14);
        check_close(gram_of(narrow.block, h, shift.data()), expected, d + 1, 1e-14);
        check_close(gram_of(wide.block, h, shift.data(), true), expected, d + 1, 2e-6);
        check_close(gram_of(narrow.block, h, shift.data(), true), expected, d + 1, 2e-6);
    }
}

TEST("many columns, beyond the groups that share a cache") {
    const Matrix m(140, 611);
    const Numbers h = some_weights(140);
    const Expected expected = plain_gram(m, h, nullptr);
    for (const bool single : {false, true}) {
        const Stored stored = dense<double>("", m, Scalar::f64, 611, 1);
        check_close(gram_of(stored.block, h, nullptr, single), expected, 612, single ? 2e-6 : 1e-14);
    }
}

TEST("few numbers in a row, in any order") {
    for (const std::int64_t d : {9, 40, 300}) {
        Matrix m(400, d);
        for (std::int64_t r = 0; r < 400; ++r) {
            for (std::int64_t j = 0; j < d; ++j) {
                if ((j + 7 * r) % 37 >= r % 9) m.at(r, j) = 0;  // from no number to a quarter of them
            }
        }
        const Numbers h = some_numbers(400, 0.6), shift = some_numbers(d, 0.3);
        const Expected plain = plain_gram(m, h, nullptr), centred = plain_gram(m, h, shift.data());
        const Stored wide = csr<double, std::int64_t>("", m, Scalar::f64);
        const Stored narrow = csr<float, std::int32_t>("", m, Scalar::f32);
        Stored backwards = csr<double, std::int32_t>("", m, Scalar::f64);
        auto& values = *static_cast<std::vector<double>*>(backwards.memory[0].get());
        auto& indices = *static_cast<std::vector<std::int32_t>*>(backwards.memory[1].get());
        const auto& starts = *static_cast<std::vector<std::int32_t>*>(backwards.memory[2].get());
        for (std::size_t r = 0; r < 400; r += 2) {
            std::reverse(values.begin() + starts[r], values.begin() + starts[r + 1]);
            std::reverse(indices.begin() + starts[r], indices.begin() + starts[r + 1]);
        }
        for (const Stored* stored : {&wide, &narrow, static_cast<const Stored*>(&backwards)}) {
            check_close(gram_of(stored->block, h, nullptr), plain, d + 1, 1e-14);
            check_close(gram_of(stored->block, h, shift.data()), centred, d + 1, 1e-12);
        }
    }
}

TEST("no columns: the sum of the weights is left") {
    const Matrix m(10, 0);
    const Stored stored = dense<double>("", m, Scalar::f64, 0, 1);
    const Numbers found = gram_of(stored.block, Numbers(10, 0.5), nullptr);
    CHECK(found == Numbers{5.0});
}

TEST("negative weights are taken away") {
    for (const std::int64_t d : {3, 30}) {
        const Matrix m(500, d);
        const Numbers h = some_numbers(500, 0.9), shift = some_numbers(d, 2.1);
        const Expected expected = plain_gram(m, h, shift.data());
        const Stored wide = dense<double>("", m, Scalar::f64, d, 1);
        const Stored sparse = csr<float, std::int32_t>("", m, Scalar::f32);
        check_close(gram_of(wide.block, h, shift.data()), expected, d + 1, 1e-13);
        check_close(gram_of(sparse.block, h, shift.data()), expected, d + 1, 1e-12);
        check_close(gram_of(wide.block, h, shift.data(), true), expected, d + 1, 2e-6);
    }
}

TEST("rows of weight zero are not read") {
    Matrix m(400, 21);
    Numbers h = some_weights(400);
    const Expected expected = plain_gram(m, h, nullptr);
    for (std::int64_t r = 0; r < 400; ++r) {
        if (h[static_cast<std::size_t>(r)] == 0) m.at(r, r % 21) = NAN;
    }
    const Stored wide = dense<double>("", m, Scalar::f64, 21, 1),
                 narrow = dense<float>("", m, Scalar::f32, 21, 1);
    const Stored sparse = csr<double, std::int64_t>("", m, Scalar::f64);
    for (const Stored* stored : {&wide, &narrow, &sparse})
        check_close(gram_of(stored->block, h, nullptr), expected, 22, 1e-13);
    const Numbers nothing = gram_of(wide.block, Numbers(400, 0.0), nullptr);
    CHECK(std::all_of(nothing.begin(), nothing.end(), [](double value) { return value == 0; }));
}

TEST("a value that is not finite shows in the sums") {
    Matrix m(200, 9);
    m.at(170, 4) = NAN;
    const Stored stored = dense<double>("", m, Scalar::f64, 9, 1);
    const Numbers found = gram_of(stored.block, Numbers(200, 1.0), nullptr);
    for (std::size_t j = 0; j < 10; ++j)
        CHECK(std::isnan(found[4 * 10 + j]) && std::isnan(found[j * 10 + 4]));
    CHECK(std::isfinite(found[0]) && std::isfinite(found[3 * 10 + 5]));
}

TEST("chunks of any size, of several kinds of rows, make one matrix") {
    const Matrix m(900, 27);
    const Numbers h = some_weights(900), shift = some_numbers(27, 0.4);
    const Stored wide = dense<double>("", m, Scalar::f64, 27, 1),
                 narrow = dense<float>("", m, Scalar::f32, 27, 1);
    const Stored sparse = csr<double, std::int32_t>("", m, Scalar::f64);
    const Stored* kinds[] = {&wide, &narrow, &sparse};
    Gram gram(27, shift.data());
    std::int64_t first = 0;
    for (int turn = 0; first < 900; ++turn) {
        const std::int64_t count = std::min<std::int64_t>(900 - first, turn * 7 % 60);
        Chunks chunks(kinds[turn % 3]->block);
        chunks.open(0,
                    [&](const auto& rows, std::int64_t) { gram.add(rows, first, count, h.data() + first); });
        first += count;
    }
    Numbers found(28 * 28, 0.0);
    gram.finish(found.data());
    check_close(found, plain_gram(m, h, shift.data()), 28, 1e-12);
}

TEST("finish adds to what is there") {
    const Matrix m(50, 6);
    const Stored stored = dense<double>("", m, Scalar::f64, 6, 1);
    const Numbers once = gram_of(stored.block, Numbers(50, 1.0), nullptr);
    Numbers twice = once;
    NeverStop never;
    CHECK(weighted_gram(stored.block, Numbers(50, 1.0).data(), nullptr, false, twice.data(), never));
    for (std::size_t k = 0; k < once.size(); ++k) CHECK(twice[k] == 2 * once[k]);
}

TEST("a Gram matrix ends soon after its token says so") {
    const Matrix m(3000, 150);
    const Stored stored = dense<double>("", m, Scalar::f64, 150, 1);
    Numbers found(151 * 151, 0.0);
    StopAt first(1);
    CHECK(!weighted_gram(stored.block, Numbers(3000, 1.0).data(), nullptr, false, found.data(), first));
    CHECK(found == Numbers(151 * 151, 0.0));
}

TEST("products of every instruction set agree") {
    const Matrix m(128, 50);
    std::vector<const double*> rows;
    for (std::int64_t r = 0; r < 128; ++r) rows.push_back(m.values.data() + r * 50);
    const Numbers root(128, 1.0);
    for (const std::string& name : available_primitives()) {
        const GramTile<double>& tile = primitives_named(name).tiles->f64;
        // 50 columns, so that vectors of 2 are full, and those of 4 and 8 are not.
        const std::int64_t positions = (50 + tile.lanes - 1) / tile.lanes * tile.lanes;
        const std::int64_t panels = (positions + tile.width - 1) / tile.width;
        Numbers packed(static_cast<std::size_t>(panels * tile.width * 128), 0.0), shift(packed),
            row_sums(packed);
        Numbers sums(static_cast<std::size_t>(positions * positions), 0.0);
        tile.pack_f64(rows.data(), {128, 50, root.data(), shift.data(), tile.width * 128, row_sums.data()},
                      packed.data());
        tile.add(packed.data(), tile.width * 128, 128, positions, -1.0, sums.data(), positions, {});
        double plain = 0, sum = 0;  // columns 3 and 41 stand where they stood
        for (std::int64_t r = 0; r < 128; ++r) {
            plain -= m.at(r, 3) * m.at(r, 41);
            sum += m.at(r, 41);
        }
        CHECK(sums[static_cast<std::size_t>(3 * positions + 41)] == plain);
        CHECK(row_sums[41] == sum);
    }
}
