"""Fitting a prompt into a budget: what may go, in which order, and what is left."""
