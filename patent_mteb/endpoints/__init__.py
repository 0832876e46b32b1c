"""Servers of the OpenAI protocol: requests, budgets, cached answers. Without mteb and torch."""
