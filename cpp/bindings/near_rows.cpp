// Leaving examples out of a hinge fit on rows with very many columns: the rows near the margin as one system,
// and the proof of what comes out of it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/left_out_proof.hpp"
#include "maxmargin/kernel/near_removals.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The hinge fit, with the arrays that the kernels read.
class NearRows {
  public:
    NearRows(nb::object rows, In<std::int8_t> sign, In<double> cost, In<double> alpha, In<double> agreement,
             In<std::int64_t> order, In<double> distance, std::int64_t n_near, std::int64_t n_free,
             double balance, double constant, bool has_free_offset, double largest_norm)
        : keep_(rows), block_(nb::cast<const OwnedBlock&>(rows).block), sign_(sign), cost_(cost),
          alpha_(alpha), agreement_(agreement), order_(order), distance_(distance), n_near_(n_near),
          balance_(balance), place_(static_cast<std::size_t>(block_.n_rows), -1),
          products_(block_, near_of(n_near)), system_(products_, n_free, constant, has_free_offset),
          offset_square_(has_free_offset ? 0.0 : constant), largest_norm_(largest_norm) {
        expect_length(sign, block_.n_rows, "sign");
        for (const auto& [numbers, name] :
             {std::pair{&cost_, "cost"}, {&alpha_, "alpha"}, {&agreement_, "agreement"}})
            expect_length(*numbers, block_.n_rows, name);
        expect_length(distance_, static_cast<std::int64_t>(order_.shape(0)), "distance");
        for (std::int64_t k = 0; k < n_near; ++k) {
            const std::int64_t row = order_.data()[k];
            place_[static_cast<std::size_t>(row)] = k;
            near_sign_.push_back(sign_.data()[row]);
            near_cost_.push_back(cost_.data()[row]);
            near_alpha_.push_back(alpha_.data()[row]);
            near_agreement_.push_back(agreement_.data()[row]);
        }
    }

    NearRows(const NearRows&) = delete;
    NearRows& operator=(const NearRows&) = delete;

    bool make(PythonStopToken& token) {
        NearSystem::Outcome outcome;
        {
            nb::gil_scoped_release nogil;
            outcome = system_.make(token);
            if (outcome == NearSystem::Outcome::made)
                removals_ = std::make_unique<NearRemovals>(
                    system_, NearFit{near_sign_.data(), near_cost_.data(), near_alpha_.data(),
                                     near_agreement_.data(), balance_});
        }
        token.raise_signal();
        if (outcome == NearSystem::Outcome::stopped) throw Stopped();
        return outcome == NearSystem::Outcome::made;
    }

    void remove(In<std::int64_t> rows, In<double> new_cost, OutTable changes, Out<double> offset_changes,
                Out<bool> solved, PythonStopToken& token) const {
        if (removals_ == nullptr) throw nb::value_error("make() must have succeeded first");
        const auto count = static_cast<std::int64_t>(rows.shape(0));
        expect_length(new_cost, count, "new_cost");
        expect_length(offset_changes, count, "offset_changes");
        expect_length(solved, count, "solved");
        expect_table(changes, count);
        std::vector<NearRemoval> removals;
        for (std::int64_t k = 0; k < count; ++k) {
            const std::int64_t row = row_of(rows, k);
            removals.push_back({row, place_[static_cast<std::size_t>(row)],
                                static_cast<double>(sign_.data()[row]), alpha_.data()[row],
                                new_cost.data()[k]});
        }
        run_to_the_end(token, [&] {
            return removals_->solve(removals.data(), count, changes.data(), offset_changes.data(),
                                    solved.data(), token);
        });
    }

    // Columns of the values: agreement, gap, balance change, squared length, offset error, the two rooms.
    void prove(In<std::int64_t> rows, In<double> new_cost, Table changes, In<double> offset_changes,
               OutTable values, PythonStopToken& token) const {
        const auto count = static_cast<std::int64_t>(rows.shape(0));
        expect_length(new_cost, count, "new_cost");
        expect_length(offset_changes, count, "offset_changes");
        expect_table(changes, count);
        if (static_cast<std::int64_t>(values.shape(0)) != count || values.shape(1) != 7)
            throw nb::value_error("values must have a row for each example, of 7 numbers");
        const ProvenFit fit{block_,
                            sign_.data(),
                            cost_.data(),
                            alpha_.data(),
                            agreement_.data(),
                            order_.data(),
                            distance_.data(),
                            static_cast<std::int64_t>(order_.shape(0)),
                            n_near_,
                            largest_norm_,
                            offset_square_};
        std::vector<LeftOutPoint> points;
        for (std::int64_t k = 0; k < count; ++k)
            points.push_back({row_of(rows, k), new_cost.data()[k], changes.data() + k * (n_near_ + 1),
                              offset_changes.data()[k]});
        std::vector<LeftOutValue> found(points.size());
        run_to_the_end(token, [&] { return prove_left_out(fit, points.data(), count, found.data(), token); });
        for (std::size_t k = 0; k < found.size(); ++k) {
            const LeftOutValue& value = found[k];
            const double numbers[] = {value.agreement, value.gap,          value.balance_change,
                                      value.moved2,    value.offset_error, value.room_below,
                                      value.room_above};
            std::copy(std::begin(numbers), std::end(numbers), values.data() + 7 * k);
        }
    }

  private:
    std::vector<std::int64_t> near_of(std::int64_t n_near) const {
        const auto count = static_cast<std::int64_t>(order_.shape(0));
        if (n_near < 0 || n_near > count) throw nb::value_error("n_near must be a number of ordered rows");
        for (std::int64_t k = 0; k < count; ++k) (void)row_of(order_, k);
        return {order_.data(), order_.data() + n_near};
    }

    std::int64_t row_of(const In<std::int64_t>& rows, std::int64_t k) const {
        const std::int64_t row = rows.data()[k];
        if (row < 0 || row >= block_.n_rows) throw nb::value_error("no such row");
        return row;
    }

    template <class Numbers>
    void expect_table(const Numbers& changes, std::int64_t count) const {
        if (static_cast<std::int64_t>(changes.shape(0)) != count ||
            static_cast<std::int64_t>(changes.shape(1)) != n_near_ + 1)
            throw nb::value_error("changes must have a row for each example, of one number for each near row "
                                  "and one more");
    }

    nb::object keep_;
    const Block& block_;
    In<std::int8_t> sign_;
    In<double> cost_, alpha_, agreement_;
    In<std::int64_t> order_;
    In<double> distance_;
    std::int64_t n_near_;
    double balance_;
    std::vector<std::int64_t> place_;
    NearProducts products_;
    NearSystem system_;
    std::unique_ptr<NearRemovals> removals_;
    std::vector<double> near_sign_, near_cost_, near_alpha_, near_agreement_;
    double offset_square_, largest_norm_;
};

}  // namespace
}  // namespace maxmargin::bindings

void bind_near_rows(nanobind::module_& m) {
    using namespace maxmargin::bindings;
    using maxmargin::bindings::NearRows;

    nb::class_<NearRows>(m, "NearRows",
                         "A hinge fit from which rows are left out, by its rows near the margin.")
        .def(
            nb::init<nb::object, In<std::int8_t>, In<double>, In<double>, In<double>, In<std::int64_t>,
                     In<double>, std::int64_t, std::int64_t, double, double, bool, double>(),
            nb::arg("rows"), nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
            nb::arg("alpha").noconvert(), nb::arg("agreement").noconvert(), nb::arg("order").noconvert(),
            nb::arg("distance").noconvert(), nb::arg("n_near"), nb::arg("n_free"), nb::arg("balance"),
            nb::arg("constant"), nb::arg("has_free_offset"), nb::arg("largest_norm"),
            "order: the rows that cost anything, first the n_free free ones, then others to n_near, then the "
            "rest by `distance` from the margin. balance: sum of s alpha. constant: added to products of "
            "rows.")
        .def("make", &NearRows::make, nb::arg("token"),
             "Make the system; False if the free rows depend on each other.")
        .def("remove", &NearRows::remove, nb::arg("rows").noconvert(), nb::arg("new_cost").noconvert(),
             nb::arg("changes").noconvert(), nb::arg("offset_changes").noconvert(),
             nb::arg("solved").noconvert(), nb::arg("token"),
             "Write, for each row that loses cost, the changes of s alpha of the near rows and of the row "
             "itself if it is not near, and of a free offset.")
        .def("prove", &NearRows::prove, nb::arg("rows").noconvert(), nb::arg("new_cost").noconvert(),
             nb::arg("changes").noconvert(), nb::arg("offset_changes").noconvert(),
             nb::arg("values").noconvert(), nb::arg("token"),
             "Write of each such point: agreement of its row, gap, change of the balance, squared length of "
             "the change of w, error of the offset, and the cost below and above the offset.");
}
