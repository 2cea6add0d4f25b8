"""The page: its data, and the file in a browser."""
