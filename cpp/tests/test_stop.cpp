// How often a loop asks whether to stop.

#include "check.hpp"

#include <cstdint>

#include "maxmargin/stop.hpp"

using namespace maxmargin;

namespace {

class Counting final : public StopToken {
  public:
    bool poll() noexcept override { return ++questions >= stop_at; }
    int questions = 0;
    int stop_at = 1 << 30;
};

}  // namespace

TEST("the token is asked after about half a million values") {
    Counting token;
    Pace pace(token);
    for (int k = 0; k < 1000; ++k) CHECK(!pace.stop_after(10'000));
    CHECK(token.questions >= 15 && token.questions <= 25);
}

TEST("empty rows count too, so that a loop over them can be stopped") {
    Counting token;
    Pace pace(token);
    for (int k = 0; k < 200'000; ++k) pace.stop_after(0);
    CHECK(token.questions >= 1);
}

TEST("a single long row is asked about at once") {
    Counting token;
    token.stop_at = 1;
    Pace pace(token);
    CHECK(pace.stop_after(1'000'000));
}

TEST("the answer is passed on") {
    Counting token;
    token.stop_at = 3;
    Pace pace(token);
    int rounds = 0;
    while (!pace.stop_after(1 << 18)) ++rounds;
    CHECK(token.questions == 3);
    CHECK(rounds == 5);
    NeverStop never;
    CHECK(!never.poll());
}
