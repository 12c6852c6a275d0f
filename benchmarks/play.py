"""The playground: how long from the slider to the picture, with 500 points?

    python benchmarks/play.py            # 200 values for each loss; writes results/
    python benchmarks/play.py --short    # 20 values; prints only

Through a real browser (Chromium, driven by Playwright, on the machine that also runs the server): the slider
for C is set to values all over its range in random order, and the clock runs from the slider's event until
the frame after the new boundary, bands, slacks and support vectors are drawn is over; and until the errors of
leave-one-out, which are asked for when the picture is there, are drawn as well. Every fit is one of the
library to a certified gap of 1e-6. Both include the wait for the next frame, up to 1/60 of a second. "The fit
alone" is the same call without browser and server, on one thread.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from support.contest_script import folder_for, options_of
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin.play.examples import example_points
from maxmargin.play.fit import fit_task
from maxmargin.play.server import Playground
from maxmargin.play.state import read_task

STEM, TITLE = "play", "The playground: from the slider to the picture"
LOSSES = ("hinge", "squared_hinge", "logistic")
EXAMPLE = "many"
TITLES = (
    "loss",
    "points",
    "picture: median",
    "95 %",
    "with leave-one-out: median",
    "95 %",
    "the fit alone: median",
    "95 %",
)

# Sets the slider and returns the milliseconds until each of the two is on the screen.
MEASURE = """async (power) => {
    const slider = document.getElementById("slider");
    const seen = (what) => new Promise((resolve) => {
        const listen = (event) => {
            if (event.detail.what !== what) return;
            document.removeEventListener("drawn", listen);
            const channel = new MessageChannel();  // its message comes after the frame
            channel.port1.onmessage = () => resolve(performance.now());
            requestAnimationFrame(() => channel.port2.postMessage(null));
        };
        document.addEventListener("drawn", listen);
    });
    const [picture, leftOut] = [seen("fit"), seen("left-out")];
    const start = performance.now();
    slider.value = power;
    slider.dispatchEvent(new Event("input"));
    return [(await picture) - start, (await leftOut) - start];
}"""


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for path in map(shutil.which, names) if path is not None), None)


@contextmanager
def opened() -> Iterator[Any]:
    """Yield the playground's page in a browser."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    with Playground() as server, sync_playwright() as playwright:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(server.access.url)
        page.wait_for_selector(".boundary")
        page.select_option("#example", EXAMPLE)
        page.wait_for_function("() => document.querySelector('#left-out').textContent.endsWith('of 500')")
        yield page
        browser.close()
        server.shutdown()
        thread.join()


def alone(loss: str, powers: np.ndarray) -> list[float]:
    """Return the milliseconds of the same fits without browser and server."""
    spent = []
    for power in powers:
        points = example_points(EXAMPLE)["points"]
        task = read_task({"points": points, "loss": loss, "strength": "C", "value": 10.0**power})
        start = time.perf_counter()
        fit_task(task)
        spent.append(1e3 * (time.perf_counter() - start))
    return spent


def measured(page: Any, loss: str, powers: np.ndarray) -> dict[str, Any]:
    page.check(f'input[name="loss"][value="{loss}"]', force=True)
    page.wait_for_timeout(500)
    found = np.array([page.evaluate(MEASURE, float(power)) for power in powers])
    return {
        "loss": loss,
        "points": len(example_points(EXAMPLE)["points"]),
        "powers": powers.tolist(),
        "picture": found[:, 0].tolist(),
        "left_out": found[:, 1].tolist(),
        "fit": alone(loss, powers),
    }


def row_of(line: dict[str, Any]) -> list[str]:
    cells = [line["loss"].replace("_", " "), str(line["points"])]
    for name in ("picture", "left_out", "fit"):
        cells += [f"{np.percentile(line[name], share):.0f} ms" for share in (50, 95)]
    return cells


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    looks = zip(lines, ("#0072B2", "#D55E00", "#009E73"), ("o", "^", "s"), strict=True)
    for line, colour, shape in looks:
        axis.plot(
            10.0 ** np.array(line["powers"]),
            line["picture"],
            shape,
            color=colour,
            markersize=4,
            alpha=0.7,
            label=line["loss"].replace("_", " "),
        )
    axis.axhline(50, color="0.5", linestyle=":", label="50 ms")
    axis.set_xscale("log")
    axis.set_ylim(0, None)
    axis.set_xlabel("C")
    axis.set_ylabel("slider to picture (ms)")
    axis.legend(frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    if chromium() is None or find_spec("playwright") is None:
        print("not measured: it takes Chromium and Playwright")
        return
    powers = np.random.RandomState(0).uniform(-3.0, 4.0, 20 if options.short else 200).round(2)
    print(markdown(TITLES, []))
    lines = []
    with opened() as page:
        for loss in LOSSES:
            lines.append(measured(page, loss, powers))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines])
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
