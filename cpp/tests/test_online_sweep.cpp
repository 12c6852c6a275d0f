// Online learners: their steps against plain loops, in every storage, whole or in pieces, stopped or not.
#include "maxmargin/kernel/online_sweep.hpp"

#include <cmath>
#include <cstring>

#include "check.hpp"
#include "matrix.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 62;

struct Learner {
    std::string rule;
    OnlineSettings settings;
    std::vector<double> v, u;
    OnlineState state;
    std::vector<std::int8_t> sign;
    std::vector<std::uint32_t> rows;
    std::vector<double> agreement, step;
    std::vector<std::uint8_t> updated;

    Learner(std::string name, const OnlineSettings& chosen, const Matrix& m)
        : rule(std::move(name)), settings(chosen), v(static_cast<std::size_t>(m.columns)), u(v),
          state{v.data(), u.data()} {
        for (std::int64_t i = 0; i < m.rows; ++i) sign.push_back(i % 3 == 0 ? 1 : -1);
    }

    // Makes a stretch and appends what it writes down.
    void go(const Block& block, const Stretch& stretch, StopToken& token) {
        const auto room = static_cast<std::size_t>(stretch.visits), old = rows.size();
        rows.resize(old + room);
        agreement.resize(old + room);
        step.resize(old + room);
        updated.resize(old + room);
        const OnlineLog log{nullptr, rows.data() + old, agreement.data() + old, updated.data() + old,
                            step.data() + old};
        const std::int64_t before = state.visits;
        CHECK(online_sweep(rule, settings, block, sign.data(), nullptr, state, stretch, log, token));
        rows.resize(old + static_cast<std::size_t>(state.visits - before));
    }

    std::vector<double> weights(bool averaged) const {
        std::vector<double> theta(v.size() + 1);
        theta.back() = online_weights(state, static_cast<std::int64_t>(v.size()), averaged, theta.data());
        return theta;
    }
};

// The last weights and their mean over all steps, by the book; the offset stands behind the weights.
struct Course {
    std::vector<double> last, mean;
};

Course plain_loop(const Learner& learner, const Matrix& m) {
    const auto d = static_cast<std::size_t>(m.columns);
    std::vector<double> w(d + 1), sum(d + 1);
    for (std::size_t t = 0; t < learner.rows.size(); ++t) {
        const std::int64_t i = learner.rows[t];
        const double s = learner.sign[static_cast<std::size_t>(i)];
        const double agreement = s * (m.dot(i, w.data()) + w[d]), eta = learner.step[t];
        double pull = 0, keep = 1;
        if (learner.rule == "margin") {
            pull = agreement <= learner.settings.threshold ? eta : 0;
        } else if (learner.rule == "pegasos") {
            keep = 1 - eta * learner.settings.lambda;
            pull = agreement <= 1 ? eta : 0;
        } else {
            pull = eta * (1 - 1 / (1 + std::exp(-agreement)));
        }
        for (std::size_t j = 0; j < d; ++j)
            w[j] = keep * w[j] + pull * s * m.at(i, static_cast<std::int64_t>(j));
        if (learner.settings.has_offset) w[d] += pull * s;
        for (std::size_t j = 0; j <= d; ++j) sum[j] += w[j];
    }
    for (double& value : sum) value /= static_cast<double>(learner.rows.size());
    return {w, sum};
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
    CHECK(a.size() == b.size());
    for (std::size_t j = 0; j < a.size(); ++j) CHECK_CLOSE(a[j], b[j], 1e-11);
}

const OnlineSettings kPerceptron{{0, 1, 0}, 0, 0, true, false, Arrangement::given};
const OnlineSettings kHinge{{1, 1, 0}, 1, 0, false, true, Arrangement::drawn};
const OnlineSettings kPegasos{{1, 1, 0}, 0, 0.05, false, false, Arrangement::drawn};
const OnlineSettings kLongSteps{{0, 0.9, 0}, 0, 1, true, false, Arrangement::shuffled};
const OnlineSettings kLogistic{{0.5, 0.1, 0}, 0, 0, true, false, Arrangement::shuffled};

struct Case {
    const char* rule;
    const OnlineSettings& settings;
};
const Case kCases[] = {{"margin", kPerceptron},
                       {"margin", kHinge},
                       {"pegasos", kPegasos},
                       {"pegasos", kLongSteps},  // θ shrinks tenfold a step: v takes the scale over often
                       {"logistic", kLogistic}};

}  // namespace

TEST("online learners step by the book in every storage") {
    const Matrix m(40, 7);
    NeverStop never;
    for (const Case& one : kCases) {
        for (const Stored& stored : every_storage(m)) {
            Learner learner(one.rule, one.settings, m);
            for (std::uint64_t pass = 0; pass < 3; ++pass)
                learner.go(stored.block, {7, pass, 0, 40, kAll}, never);
            const Course course = plain_loop(learner, m);
            check_close(learner.weights(false), course.last);
            check_close(learner.weights(true), course.mean);
            CHECK(learner.state.visits == 120);
        }
    }
}

TEST("a pass in pieces is the same pass") {
    const Matrix m(40, 7);
    const Stored stored = dense<double>("", m, Scalar::f64, 7, 1);
    NeverStop never;
    for (const Case& one : kCases) {
        Learner whole(one.rule, one.settings, m), pieces(one.rule, one.settings, m);
        whole.go(stored.block, {3, 5, 0, 40, kAll}, never);
        for (const auto& [from, visits] : {std::pair(0, 1), std::pair(1, 14), std::pair(15, 25)})
            pieces.go(stored.block, {3, 5, from, visits, kAll}, never);
        CHECK(whole.rows == pieces.rows);
        CHECK(whole.weights(false) == pieces.weights(false));
        CHECK(whole.weights(true) == pieces.weights(true));
    }
}

TEST("the most updates and the token end a stretch in a consistent state") {
    const Matrix m(6000, 60);
    const Stored stored = dense<double>("", m, Scalar::f64, 60, 1);
    NeverStop never;
    Learner few("margin", kPerceptron, m);
    few.go(stored.block, {0, 0, 0, 6000, 5}, never);
    CHECK(few.state.updates == 5);
    check_close(few.weights(false), plain_loop(few, m).last);
    StopAt first(1);
    Learner stopped("margin", kPerceptron, m);
    stopped.go(stored.block, {0, 0, 0, 6000, kAll}, first);
    CHECK(stopped.state.visits > 0);
    CHECK(stopped.state.visits < 6000);
    check_close(stopped.weights(true), plain_loop(stopped, m).mean);
}

TEST("orders: as they stand, a permutation, draws") {
    const Matrix m(50, 2);
    const Stored stored = dense<double>("", m, Scalar::f64, 2, 1);
    NeverStop never;
    for (const Arrangement arrangement : {Arrangement::given, Arrangement::shuffled, Arrangement::drawn}) {
        OnlineSettings settings = kPerceptron;
        settings.arrangement = arrangement;
        Learner learner("margin", settings, m);
        learner.go(stored.block, {1, 2, 0, 50, kAll}, never);
        std::vector<int> seen(50);
        for (const std::uint32_t row : learner.rows) ++seen[row];
        const bool once = std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; });
        CHECK(once == (arrangement != Arrangement::drawn));
        CHECK(std::is_sorted(learner.rows.begin(), learner.rows.end()) ==
              (arrangement == Arrangement::given));
    }
}

TEST("updates may be divided by the norm of the row, and rows with updates be listed") {
    const Matrix m(6, 3);
    const Stored stored = csr<double, std::int32_t>("", m, Scalar::f64);
    const std::vector<std::int8_t> sign(6, 1);
    const std::vector<double> norm2{3, 8, 15, 24, 35, 48};  // with the offset's 1: 4, 9, 16, …
    std::vector<double> v(3), theta(3), expected(3);
    OnlineState state{v.data()};
    NeverStop never;
    OnlineLog log;
    std::vector<std::uint32_t> listed(6);
    log.updated_rows = listed.data();
    OnlineSettings settings = kPerceptron;
    settings.threshold = 1e9;  // every row
    CHECK(online_sweep("margin", settings, stored.block, sign.data(), norm2.data(), state, {0, 0, 0, 6, kAll},
                       log, never));
    double offset = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = 0; j < 3; ++j)
            expected[static_cast<std::size_t>(j)] += m.at(i, j) / (2.0 + static_cast<double>(i));
        offset += 1 / (2.0 + static_cast<double>(i));
        CHECK(listed[static_cast<std::size_t>(i)] == static_cast<std::uint32_t>(i));
    }
    CHECK_CLOSE(online_weights(state, 3, false, theta.data()), offset, 1e-14);
    check_close(theta, expected);
}

TEST("an unknown rule is refused") {
    const Matrix m(2, 2);
    const Stored stored = dense<double>("", m, Scalar::f64, 2, 1);
    Learner learner("margin", kPerceptron, m);
    NeverStop never;
    CHECK(!online_sweep("adaline", kPerceptron, stored.block, learner.sign.data(), nullptr, learner.state,
                        {0, 0, 0, 2, kAll}, {}, never));
}
