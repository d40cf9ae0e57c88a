"""Views of a record: text, Markdown, static HTML, one offline page, and the viewer's JSON.

A view is a pure function of a `model` record: it never calls JAX, never imports IPython, and always
gives the same output for the same record.

- `report`, `compiles`, `comparison`, `diff`: build the `Document` of a result.
- `profile`, `chapters`: the chapters that only some programs have.
- `base`: documents, tables and figures, and their writers.
- `bundle`: the report as the viewer of `labextension/` reads it, and as a page.
"""
