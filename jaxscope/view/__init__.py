"""Draws a Record: as text, static HTML, Markdown, or one offline page.

Every view is a pure function from a `model.Record` to a string. What it may show is in the record
already, so a view never asks JAX, never imports IPython, and gives the same answer tomorrow.

- `summary.first_line`: the one line that says it all.
- `text.text`: for terminals and logs.
- `html.static_html`: the display bundle's `text/html`; no script, readable without style sheets.
- `payload.payload`: the report as the viewer of `labextension/` reads it.
- `page.page`: one offline file with that viewer and the whole report in it.
- `markdown.markdown`: for an issue or a README.
"""
