// The stop token that Python holds: a flag, a deadline, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "maxmargin/stop.hpp"

namespace maxmargin::bindings {

namespace nb = nanobind;

// Thrown when a pass was told to stop before it had read all rows: its result would be wrong.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "the pass was told to stop"; }
};

class PythonStopToken final : public StopToken {
  public:
    using Clock = std::chrono::steady_clock;

    // Python handles signals on its main thread only, and only that thread may ask for them.
    PythonStopToken(std::optional<double> seconds, bool on_main_thread)
        : listening_(on_main_thread), owner_(std::this_thread::get_id()), last_asked_(Clock::now()) {
        began_ = told_ = deadline_ = last_asked_;
        if (seconds) {
            told_ = deadline_ = began_ + to_duration(*seconds);
            has_deadline_ = true;
        }
    }

    bool poll() noexcept override {
        if (stopped_.load(std::memory_order_relaxed)) return true;
        if (!has_deadline_ && !listening_) return false;
        const auto now = Clock::now();
        if (has_deadline_ && now >= deadline_) stopped_.store(true, std::memory_order_relaxed);
        if (listening_ && std::this_thread::get_id() == owner_ && now - last_asked_ > kBetweenQuestions) {
            last_asked_ = now;
            nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() != 0) {
                raised_.emplace();
                stopped_.store(true, std::memory_order_relaxed);
            }
        }
        return stopped_.load(std::memory_order_relaxed);
    }

    // Ends that much before the deadline, because what comes after the passes takes so long; but not in the
    // first half of the time. Called while no pass holds this token.
    void reserve(double seconds) {
        deadline_ = std::max(told_ - to_duration(seconds), began_ + (told_ - began_) / 2);
    }

    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
    bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

    // Called with the interpreter's lock held, after a kernel: hands on the exception of the signal handler.
    // It waits on the thread that asked; others only see that they are to stop.
    void raise_signal() {
        if (std::this_thread::get_id() != owner_ || !raised_) return;
        nb::python_error error = std::move(*raised_);
        raised_.reset();
        throw error;
    }

  private:
    // Beyond some centuries the clock's own numbers would overflow.
    static Clock::duration to_duration(double seconds) {
        const std::chrono::duration<double> least(std::min(seconds, kLongest));
        return std::chrono::duration_cast<Clock::duration>(least);
    }

    static constexpr double kLongest = 1e9;

    static constexpr std::chrono::milliseconds kBetweenQuestions{50};

    std::atomic<bool> stopped_{false};
    bool listening_, has_deadline_ = false;
    std::optional<nb::python_error> raised_;  // by a signal handler, until raise_signal hands it on
    std::thread::id owner_;
    Clock::time_point last_asked_, began_, told_, deadline_;
};

// Runs a pass without the lock; afterwards raises what a signal handler raised, or Stopped.
template <class Pass>
void run_to_the_end(PythonStopToken& token, Pass&& pass) {
    bool complete;
    {
        nb::gil_scoped_release nogil;
        complete = pass();
    }
    token.raise_signal();
    if (!complete) throw Stopped();
}

}  // namespace maxmargin::bindings
