// Softmax, log Σ exp u − u_y with u = z + b, on stored scores, and its duals r = c (e_y − α) with α in the
// simplex of K entries, kept as those of the hinge of Crammer and Singer (`class_hinge.hpp`).
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/class_hinge.hpp"

namespace maxmargin {

// The best step of a row's dual problem, scores u being those of its own weights:
//
//     min over α of  KL(α ‖ p) + a/2 ‖α − α°‖²,    p = softmax u,  a = c‖x‖²
//
// At the minimum log α + aα is log p + aα° up to a constant, so that α is a function of one number: Newton's
// method finds it and log α together.
// Source of the dual problem: Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and
// maximum entropy models", Machine Learning 85, 2011.
class SoftmaxRowStep {
  public:
    explicit SoftmaxRowStep(std::int64_t n_outputs);

    // Puts the new duals of a row into `changed`; `square` is ‖x‖². Returns c·KL(α° ‖ p): the row's part of
    // the gap.
    double take(const ClassRow& row, double square, const double* r, const double* u,
                double* changed) noexcept;

  private:
    void solve(double a) noexcept;

    std::int64_t n_outputs_;
    std::vector<double> before_, log_p_, errors_, log_alpha_, alpha_;
};

// Σ c loss at z + b; balance += Σ c (p − e_y).
double softmax_losses(const ClassPiece& rows, const double* z, const double* b, double* balance);

// Σ c loss at z + b, Σ c entropy(α), Σ |r|, and the largest |z| of rows that cost anything; balance += Σ r.
HingeTerms softmax_terms(const ClassPiece& rows, const double* z, const double* b, const double* duals,
                         double* balance);

}  // namespace maxmargin
