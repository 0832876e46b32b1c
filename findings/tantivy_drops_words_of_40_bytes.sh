#!/usr/bin/env bash
# tantivy 0.27.0: the default tokenizer drops words of 40 and more bytes without a word.
# Input:    a text with the chemical name cyclopropylmethoxyphenylpiperidinylpyrimidine (45 letters).
# Expected: a search for the name returns the document.
# Seen:     0 documents. A search for another word of the text returns it.
# For us:   names of compounds are this long. A BM25 on tantivy scores lower on chemistry (IPC section C) than another BM25.
#           The limit is in bytes: 14 Chinese characters without a blank reach it.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tantivy==0.27.0
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
import tantivy

builder = tantivy.SchemaBuilder()
builder.add_text_field("text", stored=True)
index = tantivy.Index(builder.build())
writer = index.writer()
name = "cyclopropylmethoxyphenylpiperidinylpyrimidine"
for word in (name, name[:39], name[:40], "ポンプ弁の開閉を制御する制御装置"):
    writer.add_document(tantivy.Document(text=[f"{word} salt"]))
writer.commit()
index.reload()
searcher = index.searcher()

def hits(word):
    return searcher.search(index.parse_query(word, ["text"])).count

seen = {word: hits(word) for word in (name, name[:40], name[:39], "ポンプ弁の開閉を制御する制御装置", "salt")}
print(seen)
assert list(seen.values()) == [0, 0, 1, 0, 4]
PYTHON
