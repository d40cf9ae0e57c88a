"""Put the measured figures into the documents and their page: `python -m measurements.insert`.

In a document, `<!-- measured:FILE/KEY/KEY*FACTOR -->…<!-- /measured -->` holds the figure at those
keys of `docs/measured/FILE.json`, times the factor if there is one (`*1000` gives milliseconds of
seconds), to three digits. What stands between the marks is replaced; the rest is left alone.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from measurements.__main__ import BY_HAND, NAMES
from measurements.page import page

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured"
DOCUMENTS = (
    "README.md",
    *(f"docs/{name}.md" for name in ("benchmark-method", "causes", "how-it-works", "peers", "try")),
)
MARK = re.compile(
    r"(<!-- measured:(?P<key>[^*>]+?)(?:\*(?P<factor>[\d.e+-]+))? -->)(?P<text>.*?)"
    r"(<!-- /measured -->)",
    re.DOTALL,
)


def figure(folder: Path, key: str) -> Any:
    """The measured value. Raises KeyError with a sentence when nothing measured it."""
    name, *path = key.split("/")
    try:
        found = json.loads((folder / f"{name}.json").read_text("utf-8"))["measured"]
        for step in path:
            found = found[step]
    except (KeyError, TypeError, FileNotFoundError):
        raise KeyError(
            f"The document quotes {key!r}, which nothing in {folder} measured."
        ) from None
    return found


def inserted(text: str, folder: Path = MEASURED) -> str:
    """The text with every figure as measured."""

    def replace(match: re.Match[str]) -> str:
        found = figure(folder, match["key"])
        if match["factor"]:
            found *= float(match["factor"])
        if isinstance(found, float):
            found = f"{found:.3g}" if abs(found) < 1000 else f"{found:.0f}"
        return f"{match[1]}{found}{match[5]}"

    return MARK.sub(replace, text)


def main() -> int:
    for document in DOCUMENTS:
        path = ROOT / document
        path.write_text(inserted(path.read_text("utf-8")), "utf-8")
    (MEASURED / "README.md").write_text(page(MEASURED, (*NAMES, *BY_HAND)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
