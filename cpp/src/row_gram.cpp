#include "maxmargin/kernel/row_gram.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace maxmargin {

bool row_gram(const Block& block, std::int64_t first, std::int64_t last, double* products, StopToken& token) {
    Chunks chunks(block);
    if (!chunks.in_place()) throw std::invalid_argument("products of rows need rows of float or double");
    const std::int64_t n = block.n_rows;
    std::vector<double> own(static_cast<std::size_t>(block.n_columns));
    Pace pace(token);
    bool complete = true;
    if (n == 0) return complete;
    chunks.open(0, [&](const auto& rows, std::int64_t) {
        for (std::int64_t k = first; k < last && complete; ++k) {
            std::fill(own.begin(), own.end(), 0.0);
            rows.add(k, 1.0, own.data());
            std::int64_t values = 0;
            for (std::int64_t j = 0; j <= k; ++j) {
                const double product = rows.dot(j, own.data());
                products[k * n + j] = products[j * n + k] = product;
                values += rows.n_values(j);
            }
            complete = !pace.stop_after(values);
        }
    });
    return complete;
}

}  // namespace maxmargin
