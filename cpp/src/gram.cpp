#include "maxmargin/kernel/gram.hpp"

#include <algorithm>

namespace maxmargin {

bool weighted_gram(const Block& block, const double* h, const double* shift, bool single, double* total,
                   StopToken& token) {
    // A few milliseconds of arithmetic between two questions.
    constexpr std::int64_t kBetweenPolls = 1 << 26;
    const std::int64_t square = (block.n_columns + 1) * (block.n_columns + 1);
    const std::int64_t step = std::clamp<std::int64_t>(kBetweenPolls / square, 256, 65536);
    Gram gram(block.n_columns, shift, single);
    Chunks chunks(block);
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
        bool go_on = true;
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += step) {
                gram.add(rows, i, std::min(step, rows.n_rows() - i), h + first + i);
                go_on = !token.poll();
            }
        });
        if (!go_on) return false;
    }
    gram.finish(total);
    return true;
}

}  // namespace maxmargin
