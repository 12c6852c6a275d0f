// What is wrong with the index arrays of a CSR matrix is found before anything reads through them.

#include "check.hpp"

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/csr_structure.hpp"

using namespace maxmargin;

namespace {

template <class Index>
CsrStructure look(std::vector<Index> starts, std::vector<Index> indices, std::int64_t n_columns) {
    return check_csr(starts.data(), static_cast<std::int64_t>(starts.size()) - 1, indices.data(),
                     static_cast<std::int64_t>(indices.size()), n_columns);
}

template <class Index>
void check_everything() {
    const CsrStructure good = look<Index>({0, 2, 2, 3}, {0, 4, 2}, 5);
    CHECK(good.bad_row == -1 && good.bad_column == -1 && !good.bad_starts && !good.repeats);

    const CsrStructure outside = look<Index>({0, 2, 2, 3}, {0, 4, 5}, 5);
    CHECK(outside.bad_row == 2 && outside.bad_column == 5 && !outside.bad_starts);
    const CsrStructure negative = look<Index>({0, 2, 2, 3}, {0, -1, 5}, 5);
    CHECK(negative.bad_row == 0 && negative.bad_column == -1 && !negative.bad_starts);

    const CsrStructure falling = look<Index>({0, 2, 1, 3}, {0, 1, 2}, 5);
    CHECK(falling.bad_row == 1 && falling.bad_starts);
    const CsrStructure beyond = look<Index>({0, 2, 3, 4}, {0, 1, 2}, 5);
    CHECK(beyond.bad_row == 2 && beyond.bad_starts);
    const CsrStructure before = look<Index>({-1, 2, 3, 3}, {0, 1, 2}, 5);
    CHECK(before.bad_row == 0 && before.bad_starts);

    CHECK(!look<Index>({0, 3}, {2, 0, 1}, 3).repeats);
    CHECK(look<Index>({0, 3}, {2, 0, 2}, 3).repeats);
    CHECK(look<Index>({0, 2}, {1, 1}, 3).repeats);
    CHECK(!look<Index>({0, 1, 2}, {1, 1}, 3).repeats);
    CHECK(look<Index>({0, 2, 5}, {1, 0, 2, 1, 2}, 3).repeats);

    CHECK(look<Index>({0}, {}, 3).bad_row == -1);
    CHECK(look<Index>({0, 0}, {}, 0).bad_row == -1);
}

}  // namespace

TEST("structure of CSR matrices with 32 bit indices") { check_everything<std::int32_t>(); }

TEST("structure of CSR matrices with 64 bit indices") { check_everything<std::int64_t>(); }
