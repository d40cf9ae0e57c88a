"""The example cells of `%jaxscope`."""

from __future__ import annotations

import html

from jaxscope.magics.first_steps import EXAMPLES, page
from tests.magics.notebook import open_notebook


def test_the_examples_run_one_after_the_other_and_each_shows_something() -> None:
    with open_notebook() as opened:
        for example in EXAMPLES:
            assert opened.must(example.code.replace("limit 20", "limit 4")).text, example.question


def test_each_example_has_a_button_and_its_code() -> None:
    written = page("%%jaxjit <guide>")
    assert written.count('class="jxs-insert"') == len(EXAMPLES) == written.count("<button")
    assert all(f"<pre>{one.code}</pre>" in html.unescape(written) for one in EXAMPLES)
    assert "<pre>%%jaxjit &lt;guide&gt;</pre>" in written
