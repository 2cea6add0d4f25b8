"""What goes to other libraries and comes from them, where two of a thing meet."""
