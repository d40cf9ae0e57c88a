"""The compile log as text, Markdown and HTML."""
