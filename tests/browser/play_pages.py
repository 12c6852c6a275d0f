"""What the tests of the playground share: waiting, reading the picture, asking the library the same."""

from __future__ import annotations

import json
import re

import numpy as np

from maxmargin import train
from maxmargin.play.examples import example_points


def settle(page, points=None, when="true"):
    """Wait until there are so many points, `when` holds of `state`, and picture and numbers are about that.

    A browser hands a click or a key to the page some time after it was made.
    """
    # What waits must not be asynchronous itself: a promise is something, and so taken for true.
    page.evaluate('async () => { window.store ??= await import("./store.js"); }')
    page.wait_for_function(
        f"""(points) => {{
            const {{ answers, state, versionNow }} = window.store;
            if ((points !== null && state.points.length !== points) || !({when})) return false;
            const about = (answer) => answer && answer.about === versionNow();
            if (!about(answers.fit) || !about(answers.leftOut)) return false;
            if (state.tab === "hand") return about(answers.hand);
            return state.tab !== "steps" || about(answers.walk);
        }}""",
        arg=points,
    )


def choose(page, example):
    page.select_option("#example", example)
    settle(page, len(example_points(example)["points"]))


def state_of(page):
    return page.evaluate('async () => (await import("./store.js")).state')


def library_fit(page, **settings):
    """Fit what is on the page, without the playground's help."""
    state = state_of(page)
    points = np.array(state["points"], dtype=float)
    X, y = np.ascontiguousarray(points[:, :2]), points[:, 2].astype(int)
    strength = {"C" if state["strength"] == "C" else "lam": state["value"]}
    return (
        X,
        y,
        train(X, y, loss=state["loss"], tol=1e-8, fit_intercept=state["offset"], **strength, **settings),
    )


def number_in(page, selector):
    return float(re.search(r"[−\d.]+", page.inner_text(selector)).group().replace("−", "-"))


def numbers(text):
    return np.array([float(value) for value in re.findall(r"-?[\d.]+", text)])


def segments(page, selector):
    """The ends of the lines that a path is made of, of shape (lines, 2 ends, 2 coordinates)."""
    path = page.locator(selector)
    return numbers(path.get_attribute("d")).reshape(-1, 2, 2) if path.count() else np.zeros((0, 2, 2))


def screen_of(page):
    """Positions of the points in pixels, and how many pixels a unit of the plane has."""
    moves = page.eval_on_selector_all(
        ".layer-points .point", "all => all.map(one => one.getAttribute('transform'))"
    )
    places = np.array([numbers(move) for move in moves])
    points = np.array(state_of(page)["points"])[:, :2]
    k = int(np.argmax(np.abs(points - points[0]).sum(axis=1)))
    scale = np.linalg.norm(places[k] - places[0]) / np.linalg.norm(points[k] - points[0])
    return places, scale


def distance_to(line, point):
    (ax, ay), (bx, by) = line
    return abs((bx - ax) * (ay - point[1]) - (ax - point[0]) * (by - ay)) / np.hypot(bx - ax, by - ay)


def saved_by(page):
    with page.expect_download() as download:
        page.click("#save")
    return json.loads(download.value.path().read_text())
