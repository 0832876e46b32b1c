"""A list of patents whose texts, numbers and applicants are marked; each cites the one before it."""

from __future__ import annotations

import csv

WORDS = ["valve", "pump", "rotor", "blade", "sensor", "cell", "battery", "anode", "film", "lens", "laser", "gear"]


def write_list(path, count=70):
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["Publication Number", "Title", "Abstract", "Claims", "IPC", "Applicant", "Cited Patents"])
        for number in range(count):
            text = "zzqtext " + " ".join(WORDS[(number + step) % len(WORDS)] for step in range(5))
            cites = f"US{7_712_000 + number - 1}B2" if number else ""
            claims = f"1. A {text}. 2. The {text} of claim 1."
            rows.writerow([f"US{7_712_000 + number}B2", text, text, claims, "F04B 1/00", "Zzqperson Inc.", cites])
