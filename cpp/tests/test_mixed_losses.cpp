// Losses of mixtures of two points, against the sum row by row.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "maxmargin/kernel/mixed_losses.hpp"
#include "maxmargin/loss/table.hpp"

using namespace maxmargin;

TEST("losses of mixtures are those of the mixed scores, for every loss and any number of rows") {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0.0, 2.0);
    const std::vector<double> shares{0.0, 0.3, 0.5, 1.0, -0.25};
    for (const char* name : {"hinge", "squared_hinge", "logistic", "zero_one", "exponential"}) {
        for (const std::int64_t n : {0, 1, 7, 255, 256, 1000}) {
            std::vector<double> first, second, cost;
            std::vector<std::int8_t> sign;
            for (std::int64_t i = 0; i < n; ++i) {
                first.push_back(normal(random));
                second.push_back(normal(random));
                cost.push_back(static_cast<double>(random() % 3) / 2);
                sign.push_back(random() % 2 == 0 ? 1 : -1);
            }
            const double b = 0.4, other = -1.1;
            std::vector<double> totals(shares.size(), 10.0);  // what is there is added to
            CHECK(mixed_losses(name, {first.data(), second.data(), sign.data(), cost.data(), n, b, other},
                               shares.data(), static_cast<std::int64_t>(shares.size()), totals.data()));
            for (std::size_t j = 0; j < shares.size(); ++j) {
                double expected = 10.0, size = 1.0;
                loss::with_loss(name, [&](auto loss) {
                    using Loss = decltype(loss);
                    for (std::size_t i = 0; i < first.size(); ++i) {
                        const double low = sign[i] * (first[i] + b), high = sign[i] * (second[i] + other);
                        const double m = low + shares[j] * (high - low);
                        expected += cost[i] * Loss::value(m);
                        size += cost[i] * std::fabs(Loss::value(m));
                    }
                });
                CHECK(std::fabs(totals[j] - expected) <= 1e-13 * size);
            }
        }
    }
}

TEST("an unknown loss has no mixtures") {
    double total = 0;
    CHECK(!mixed_losses("nonsense", {nullptr, nullptr, nullptr, nullptr, 0, 0, 0}, &total, 1, &total));
}
