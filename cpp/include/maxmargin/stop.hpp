// How a long loop is told to stop: it counts its work and asks now and then.
#pragma once

#include <cstdint>

namespace maxmargin {

class StopToken {
  public:
    virtual ~StopToken() = default;
    // True once the loop should end. Called from the thread that runs the loop.
    virtual bool poll() noexcept = 0;
};

class NeverStop final : public StopToken {
  public:
    bool poll() noexcept override { return false; }
};

// Asks the token after about every half a million values, some tenths of a millisecond apart.
class Pace {
  public:
    explicit Pace(StopToken& token) noexcept : token_(token) {}

    bool stop_after(std::int64_t values) noexcept {
        done_ += values + 8;
        if (done_ < kBetweenPolls) return false;
        done_ = 0;
        return token_.poll();
    }

  private:
    static constexpr std::int64_t kBetweenPolls = 1 << 19;
    StopToken& token_;
    std::int64_t done_ = 0;
};

}  // namespace maxmargin
