"""Tests with engines of others: Ray, Daft, Spark, and datasets. ``make test-engines`` runs them."""
