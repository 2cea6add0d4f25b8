"""Settings of a render, and the facts of models and providers."""
