"""Servers that answer JSON in the OpenAI protocol: posting, budgets, kept answers. No mteb, no torch."""
