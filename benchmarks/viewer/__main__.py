"""Measures the viewer in real JupyterLab, and Monaco's diff editor on the same pairs in the same run.

python -m benchmarks.viewer [--sizes 1k,10k,100k,1m] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Error, sync_playwright

from benchmarks.viewer import lab, models, peer
from irwidget.trace import Trace

LIMITS = {"1k": (250, 100), "10k": (400, 250), "100k": (1200, 800), "1m": (3000, 500)}
"""Milliseconds: first paint, pass switch."""


SHOW = "async (names) => show(...(await Promise.all(names.map(async (name) => (await fetch(name)).text()))))"
"""The texts are read by the page: Playwright would die of the largest."""


def monaco(browser: Browser, page_file: Path, trace: Trace) -> float:
    """Median milliseconds that Monaco takes for the last pairs; it stops looking for differences after five seconds.

    Not a number when its page has died.
    """
    page = browser.new_page(viewport={"width": 1400, "height": 700})
    page.goto(page_file.as_uri())
    page.wait_for_function("window.peerReady")
    texts = [dump.text for dump in trace.dumps]
    changed = [i for i in range(1, len(texts)) if texts[i] != texts[i - 1]][-4:]
    page.set_default_timeout(0)
    times: list[float] = []
    for number in changed:
        for name, text in zip(("left", "right"), texts[number - 1 : number + 1], strict=True):
            (page_file.parent / name).write_text(text)
        try:
            times.append(page.evaluate(SHOW, ["left", "right"]))
        except Error as error:
            print(f"Monaco: {str(error).splitlines()[0]}", flush=True)
            return math.nan
    page.close()
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1k,10k,100k,1m")
    parser.add_argument("--keep", type=Path, help="keep the lowerings in this folder")
    parser.add_argument("--no-rerun", action="store_true")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    sizes = options.sizes.split(",")
    traces = {size: models.trace(size, folder) for size in sizes}
    server = lab.Server(Path(tempfile.mkdtemp()))
    flags = [*lab.FLAGS, "--allow-file-access-from-files"]
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=lab.CHROMIUM, args=flags)
            jupyter = lab.Lab(server, browser, folder)
            page = peer.build(folder)
            print("         lines  paint ms  limit  switch ms  slowest  limit   fps  Monaco ms  ratio")
            for size in sizes:
                found = jupyter.measure(size)
                theirs = monaco(browser, page, traces[size])
                first, switch = LIMITS[size]
                lines = traces[size].dumps[-1].text.count("\n")
                print(
                    f"{size:5}{lines:>9,}{found['first paint']:>10.0f}{first:>7}{found['switch']:>11.0f}"
                    f"{found['slowest switch']:>9.0f}{switch:>7}{found['frames per second']:>6.0f}{theirs:>11.0f}"
                    f"{theirs / found['switch']:>6.1f}x",
                    flush=True,
                )
            if not options.no_rerun:
                at_once, later = (jupyter.first_diff(imported=imported) for imported in (False, True))
                print(f"first diff of the first notebook: {later:.0f} ms (limit 1500), {at_once:.0f} after %load_ext")
                heap, kernel = jupyter.rerun(sizes[0])
                print(f"20 re-runs: browser heap {heap:.2f} x (limit 1.6), kernel {kernel:.2f} x (limit 1.2)")
                print(f"a notebook with ten views: {jupyter.ten_views() / 1e6:.2f} MB (limit 1)")
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
