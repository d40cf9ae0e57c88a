"""Tables, HTML, terminal and Markdown, for all views."""
