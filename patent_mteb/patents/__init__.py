"""Patents: records, numbers, IPC codes, citation categories, families, texts, claims and views.

Nothing here imports mteb or torch.
"""
