"""The online learners as the documents write them, in plain NumPy; `order` lists the examples as they come.

Each returns the weights after every step: arrays of shape (T + 1, d) and (T + 1,), the start included.
"""

import numpy as np


def perceptron(X, y, order, *, offset=True, normalize=False):
    """E: if y(θ·x + θ₀) ≤ 0 then θ ← θ + y x, θ₀ ← θ₀ + y; B divides by ‖x‖, here ‖(x, 1)‖ with an offset."""
    theta, theta_0 = np.zeros(X.shape[1]), 0.0
    course = [(theta, theta_0)]
    for i in order:
        if y[i] * (theta @ X[i] + theta_0) <= 0:
            size = np.sqrt(X[i] @ X[i] + offset) if normalize else 1.0
            theta, theta_0 = theta + y[i] * X[i] / size, theta_0 + offset * y[i] / size
        course.append((theta, theta_0))
    return np.array([theta for theta, _ in course]), np.array([theta_0 for _, theta_0 in course])


def pegasos(X, y, order, lam, eta):
    """A's algorithm 1, and C's in passes; `eta` gives the step size of step t = 1, 2, …."""
    course = [np.zeros(X.shape[1])]
    for t, i in enumerate(order, start=1):
        theta = course[-1]
        if y[i] * (theta @ X[i]) <= 1:
            course.append((1 - eta(t) * lam) * theta + eta(t) * y[i] * X[i])
        else:
            course.append((1 - eta(t) * lam) * theta)
    return np.array(course), np.zeros(len(course))


def hinge_sgd(X, y, order, eta, *, counts_updates=False):
    """E: if y(θ·x) ≤ 1 then θ ← θ + η_k y x; k counts draws or updates, from 0."""
    course, updates = [np.zeros(X.shape[1])], 0
    for k, i in enumerate(order):
        theta = course[-1]
        step = eta(updates if counts_updates else k)
        if y[i] * (theta @ X[i]) <= 1:
            theta, updates = theta + step * y[i] * X[i], updates + 1
        course.append(theta)
    return np.array(course), np.zeros(len(course))


def logistic_sgd(X, y, order, eta):
    """D17 and D18, both with the probability under the old weights."""
    theta, theta_0 = np.zeros(X.shape[1]), 0.0
    course = [(theta, theta_0)]
    for i in order:
        P = 1 / (1 + np.exp(-y[i] * (theta @ X[i] + theta_0)))
        theta, theta_0 = theta + eta * y[i] * X[i] * (1 - P), theta_0 + eta * y[i] * (1 - P)
        course.append((theta, theta_0))
    return np.array([theta for theta, _ in course]), np.array([theta_0 for _, theta_0 in course])
