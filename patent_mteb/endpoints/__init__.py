"""Servers of the OpenAI protocol: requests, budgets, cached answers. Without mteb and torch."""

KEY_VARIABLE = "OPENAI_API_KEY"
