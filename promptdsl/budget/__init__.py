"""A budget: which parts of a prompt are dropped, in which order, and the prompt that is left."""
