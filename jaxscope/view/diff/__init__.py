"""Two reports side by side, for a terminal, a notebook and a pull request."""

from jaxscope.view.diff.html import static_html
from jaxscope.view.diff.summary import first_line
from jaxscope.view.diff.text import markdown, text

__all__ = ["first_line", "markdown", "static_html", "text"]
