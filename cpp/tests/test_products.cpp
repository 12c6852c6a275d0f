// Products with a block and the first look at it, in every storage, alone and by several threads at once.

#include "check.hpp"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/products.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

std::vector<double> some_numbers(std::int64_t n) {
    std::vector<double> numbers(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = std::sin(static_cast<double>(3 * k + 1));
    return numbers;
}

void check_products(const Matrix& m, const Stored& stored) {
    NeverStop never;
    const std::vector<double> w = some_numbers(m.columns);
    std::vector<double> a = some_numbers(m.rows), z(a.size(), 77.0), v(w.size(), 0.5);
    if (!a.empty()) a[0] = 0;
    CHECK(multiply(stored.block, w.data(), z.data(), a.data(), v.data(), never));
    for (std::int64_t i = 0; i < m.rows; ++i)
        CHECK_CLOSE(z[static_cast<std::size_t>(i)], m.dot(i, w.data()), 1e-12);
    for (std::int64_t j = 0; j < m.columns; ++j) {
        double sum = 0.5;  // v is added to
        for (std::int64_t i = 0; i < m.rows; ++i) sum += a[static_cast<std::size_t>(i)] * m.at(i, j);
        CHECK_CLOSE(v[static_cast<std::size_t>(j)], sum, 1e-11);
    }
    std::vector<double> z_alone(z.size(), 1.0), v_alone(v.size(), 0.5);
    CHECK(multiply(stored.block, w.data(), z_alone.data(), nullptr, nullptr, never));
    CHECK(multiply(stored.block, nullptr, nullptr, a.data(), v_alone.data(), never));
    CHECK(z_alone == z);
    CHECK(v_alone == v);
    const std::vector<double> many = some_numbers(3 * m.columns);  // weights of three outputs
    std::vector<double> z_many(3 * z.size(), 5.0);
    CHECK(multiply_many(stored.block, many.data(), 3, z_many.data(), never));
    for (std::int64_t k = 0; k < 3; ++k) {
        CHECK(multiply(stored.block, many.data() + k * m.columns, z_alone.data(), nullptr, nullptr, never));
        for (std::size_t i = 0; i < z.size(); ++i)
            CHECK(z_many[3 * i + static_cast<std::size_t>(k)] == z_alone[i]);
    }
}

// Sets a flag once it is asked, as a deadline would, and may be asked by many threads.
class SharedToken final : public StopToken {
  public:
    bool poll() noexcept override {
        ++questions;
        return stopped.load(std::memory_order_relaxed);
    }
    std::atomic<bool> stopped{false};
    std::atomic<int> questions{0};
};

}  // namespace

TEST("products in every storage agree with plain loops") {
    for (const auto& [n, d] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {9, 5}, {700, 19}, {4, 800}}) {
        const Matrix m(n, d);
        for (const Stored& stored : every_storage(m)) check_products(m, stored);
    }
}

TEST("norms in every storage agree with plain loops") {
    const Matrix m(300, 23);
    for (const Stored& stored : every_storage(m)) {
        NeverStop never;
        std::vector<double> norm2(300, -1.0);
        const Inspection found = inspect(stored.block, norm2.data(), never);
        double largest = 0;
        for (std::int64_t i = 0; i < 300; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < 23; ++j) sum += m.at(i, j) * m.at(i, j);
            CHECK(norm2[static_cast<std::size_t>(i)] == sum);
            largest = std::fmax(largest, sum);
        }
        CHECK(found.complete && found.bad_row == -1 && found.overflow_row == -1 &&
              found.largest_norm2 == largest);
    }
}

TEST("the first value that is not finite is found") {
    for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        Matrix m(3000, 23);
        m.at(2600, 22) = NAN;
        m.at(2500, 7) = bad;
        m.at(2500, 8) = NAN;
        std::vector<Stored> storages{dense<double>("", m, Scalar::f64, 23, 1),
                                     dense<float>("", m, Scalar::f32, 1, 3000),
                                     csr<float, std::int64_t>("", m, Scalar::f32)};
        for (const Stored& stored : storages) {
            NeverStop never;
            std::vector<double> norm2(3000);
            const Inspection found = inspect(stored.block, norm2.data(), never);
            CHECK(found.bad_row == 2500 && found.bad_column == 7);
            CHECK(std::isnan(bad) ? std::isnan(found.bad_value) : found.bad_value == bad);
        }
    }
}

TEST("a row whose square overflows is found, but a bad value matters more") {
    Matrix m(50, 4);
    m.at(20, 1) = 1e200;
    m.at(30, 1) = -1e300;
    NeverStop never;
    std::vector<double> norm2(50);
    const Stored large = dense<double>("", m, Scalar::f64, 4, 1);
    const Inspection found = inspect(large.block, norm2.data(), never);
    CHECK(found.bad_row == -1 && found.overflow_row == 20 && std::isfinite(found.largest_norm2));
    m.at(40, 3) = NAN;
    const Stored bad = dense<double>("", m, Scalar::f64, 4, 1);
    CHECK(inspect(bad.block, norm2.data(), never).bad_row == 40);
}

TEST("a product ends soon after its token says so") {
    const Matrix m(4000, 600);
    const Stored stored = dense<double>("", m, Scalar::f64, 600, 1);
    const std::vector<double> w(600, 1.0);
    std::vector<double> z(4000, 1e300);
    StopAt second(2);
    CHECK(!multiply(stored.block, w.data(), z.data(), nullptr, nullptr, second));
    CHECK(z.front() != 1e300);
    CHECK(z.back() == 1e300);
    StopAt first(1);
    CHECK(!inspect(stored.block, z.data(), first).complete);
}

TEST("several threads multiply by the same block") {
    const Matrix m(2000, 40);
    for (const Stored& stored : every_storage(m)) {
        NeverStop never;
        const std::vector<double> w = some_numbers(40), a = some_numbers(2000);
        std::vector<double> z(2000), v(40, 0.0);
        multiply(stored.block, w.data(), z.data(), a.data(), v.data(), never);
        SharedToken token;
        std::vector<std::vector<double>> zs(4, std::vector<double>(2000)),
            vs(4, std::vector<double>(40, 0.0));
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < 4; ++t) {
            threads.emplace_back(
                [&, t] { multiply(stored.block, w.data(), zs[t].data(), a.data(), vs[t].data(), token); });
        }
        for (std::thread& thread : threads) thread.join();
        for (std::size_t t = 0; t < 4; ++t) CHECK(zs[t] == z && vs[t] == v);
    }
}

TEST("one thread stops the passes of all others") {
    const Matrix m(3000, 300);
    const Stored stored = dense<float>("", m, Scalar::f32, 300, 1);
    const std::vector<double> w(300, 1.0);
    SharedToken token;
    std::atomic<int> stopped{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            std::vector<double> z(3000);
            while (multiply(stored.block, w.data(), z.data(), nullptr, nullptr, token)) {
            }
            ++stopped;
        });
    }
    while (token.questions < 3) std::this_thread::yield();
    token.stopped = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(stopped == 3);
}
