"""A report as text, Markdown and static HTML."""
