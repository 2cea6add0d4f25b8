"""Commands on two of a thing: the files they read, and all that they print and write."""
