"""What is handed to people after an analysis: one content, as HTML, Markdown, JSON and CSV."""
