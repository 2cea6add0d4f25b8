"""Tree to text: the finished tree becomes messages, in Markdown or XML."""
