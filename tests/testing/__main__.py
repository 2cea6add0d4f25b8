"""Write claims with their results, and payloads in snapshots: python -m tests.testing."""

from tests.testing import broken_stores, calm_prompts, claims, payloads

claims.PAGE.write_text(claims.rewritten(), "utf-8")
payloads.FILE.write_text(payloads.rewritten(), "utf-8")
broken_stores.PAGE.write_text(broken_stores.rewritten(), "utf-8")
calm_prompts.FILE.write_text(calm_prompts.rewritten(), "utf-8")
