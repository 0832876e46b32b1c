"""What a patent is: records, IPC codes, citation categories, texts, claims and views. Nothing here imports mteb or
torch.
"""
