// Every loss, once: adding one is a header and a line here.
#pragma once

#include <string_view>
#include <tuple>

#include "maxmargin/loss/absolute.hpp"
#include "maxmargin/loss/exponential.hpp"
#include "maxmargin/loss/hinge.hpp"
#include "maxmargin/loss/logistic.hpp"
#include "maxmargin/loss/squared.hpp"
#include "maxmargin/loss/squared_hinge.hpp"
#include "maxmargin/loss/zero_one.hpp"

namespace maxmargin::loss {

using Table = std::tuple<ZeroOne, Hinge, SquaredHinge, Logistic, Squared, Absolute, Exponential>;

// Calls visit(L{}) for the loss L of that name; false when there is none.
template <class Visit>
bool with_loss(std::string_view name, Visit&& visit) {
    return std::apply(
        [&](auto... losses) { return ((name == losses.name ? (visit(losses), true) : false) || ...); },
        Table{});
}

}  // namespace maxmargin::loss
