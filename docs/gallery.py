"""All notebooks as offline, interactive pages with one index: `python docs/gallery.py NOTEBOOKS OUT` (make gallery).

Each notebook runs in a process of its own; the page of one is what `python -m irwidget export` writes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from irwidget.notebooks import introduction
from irwidget.views.markup import tag

STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 68rem; padding: 24px; font: 15px/1.5 system-ui, sans-serif;
  background: light-dark(#fff, #14171b); color: light-dark(#14171b, #f2f2f2); }
a { color: light-dark(#0067a5, #63b3e8); }
ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 14px; padding: 0; }
ul { list-style: none; }
li { border: 1px solid light-dark(#d9dce1, #383d45); border-radius: 8px; padding: 12px 16px; }
li a { font-weight: 600; text-decoration: none; }
p { margin: 6px 0 0; }
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The index has no script and loads nothing; the pages bring their own policy."""


def main(folder: Path, out: Path) -> int:
    """Write the pages and the index; 1 when a notebook failed."""
    out.mkdir(parents=True, exist_ok=True)
    cards: list[str] = []
    failed = 0
    for notebook in sorted(folder.glob("*.ipynb")):
        page = out / f"{notebook.stem}.html"
        made = subprocess.run(
            [sys.executable, "-m", "irwidget", "export", str(notebook.resolve()), "--html", str(page.resolve())],
            capture_output=True,
            text=True,
        )
        print((made.stdout or made.stderr).strip().split("\n")[-1], flush=True)
        if made.returncode:
            failed += 1
            continue
        title, text = introduction(notebook)
        cards.append(tag("li", tag("a", title, href=page.name), tag("p", text)))
    (out / "index.html").write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>irwidget: the tutorials</title><style>{STYLE}</style></head><body><h1>irwidget: the tutorials</h1>\n"
        f"<p>Each page is one file: no kernel, no network.</p>\n<ul>{''.join(cards)}</ul></body></html>\n",
        encoding="utf-8",
    )
    print(f"wrote {out / 'index.html'}: {len(cards)} notebooks")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
