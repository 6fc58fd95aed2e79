"""Prefetch, priorities, who is active, refusing, and what ends a consumer."""
