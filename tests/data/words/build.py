"""Numbers and what `jaxscope.words` makes of them, for its twin `labextension/src/words.ts`.

`make golden` writes words.json, which both must give.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jaxscope import words

HERE = Path(__file__).parent
NUMBERS = (
    None, 0.0, 1.0, 7.0, 9.995, 12.34, 512.0, 999.0, 999.6, 1000.0, 1234.0, 65_536.0, 1_048_576.0,
    1_495_188.0, 5.23e9, 3.2e12, 7.5e15, 7.5e21, 0.0833, -1234.0,
    1.125, 10_250.0, -2.375, 4.35,  # ties, but the last
)  # fmt: skip
SECONDS = (
    None, 0.0, 1e-10, 3e-9, 12.3e-6, 4.2e-3, 0.042, 0.0423456, 0.1234, 9.996e-4, 999.96e-6, 0.99996,
    1.5, 4.13, 42.4, 59.94, 125.0, 599.0, 744.0, 7560.0, -0.5,
)  # fmt: skip
SHARES = (None, 0.0, 0.0004, 0.001, 0.02, 0.0237, 0.024, 0.0994, 0.0996, 0.81, 1.0, -0.3, 0.125, 0.0025, 0.0435)
COUNTS = (0, 1, 3, 9999, 10_000, 12_345, 1_234_567)


def cases() -> dict[str, list[list[Any]]]:
    """By function: arguments and text."""
    return {
        "significant": [
            [n, words.significant(n)]
            for n in NUMBERS
            if n is not None and abs(n) < 1e21  # beyond it JavaScript writes an exponent
        ],
        "short": [[n, words.short(n)] for n in NUMBERS],
        "flops": [[n, words.flops(n)] for n in NUMBERS],
        "size": [[n, words.size(n)] for n in NUMBERS],
        "seconds": [[n, words.seconds(n)] for n in SECONDS],
        "percent": [[n, words.percent(n)] for n in SHARES],
        "count": [[n, words.count(n, "line")] for n in COUNTS],
    }


def files() -> dict[Path, str]:
    """The texts by path."""
    rows = {
        name: [json.dumps(case, ensure_ascii=False) for case in found]
        for name, found in cases().items()
    }
    parts = [f'"{name}": [\n' + ",\n".join(found) + "\n]" for name, found in rows.items()]
    return {HERE / "words.json": "{\n" + ",\n".join(parts) + "\n}\n"}
