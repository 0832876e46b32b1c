"""Write the machine summaries of patents with any server that speaks the OpenAI chat protocol (OpenAI, vLLM, llama.cpp, Ollama, ...).

    python examples/summarise_openai.py patents.parquet summarised.parquet --base-url http://localhost:8000/v1 --model NAME

Input and output are files of canonical records (``patent_mteb.patents.records``). An interrupted run continues where it stopped:
finished summaries lie in the cache file. A key, if the server wants one, comes from the environment variable OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from patent_mteb.errors import PatentMTEBError
from patent_mteb.patents.records import read_patents, write_patents
from patent_mteb.patents.summaries import SummaryCache, summarise

PROMPTS = {
    "abstract": "Write an abstract of this patent in at most 150 words: what it is, how it works, what it is for.",
    "features": "List the technical features of this patent's invention as short phrases separated by semicolons.",
    "claims": "Summarise what the claims of this patent protect, in plain technical English and at most 150 words.",
    "advantages": "State the advantages that this patent attributes to its invention, in at most 100 words.",
    "objectives": "State the technical problem that this patent addresses and the objective of its invention, in at most 100 words.",
}
SYSTEM = "You summarise patents. Answer with the summary alone, in English, without introduction, headings or markup."
_WORTH_ANOTHER_TRY = (408, 409, 425, 429, 500, 502, 503, 504)


class OpenAISummariser:
    """One summary a request, at temperature 0.

    Args:
        base_url: the server's address up to and including the version, such as ``https://api.openai.com/v1``.
        max_characters: the patent's text is cut to this length, so that it fits the model's context.
        retries: attempts after a refusal that may pass (too many requests, server errors, no connection), each after a longer
            pause, starting with ``pause`` seconds.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        max_characters: int = 60_000,
        timeout: float = 120,
        retries: int = 4,
        pause: float = 1.0,
    ) -> None:
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.model = model
        self.api_key = api_key
        self.max_characters = max_characters
        self.timeout = timeout
        self.retries = retries
        self.pause = pause
        wording = hashlib.sha256(json.dumps([SYSTEM, PROMPTS, max_characters]).encode()).hexdigest()[:12]
        self.identity = f"openai-chat/{model}/{wording}"

    def __call__(self, kind: str, text: str) -> str:
        body = {
            "model": self.model,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": f"{PROMPTS[kind]}\n\n{text[: self.max_characters]}"},
            ],
        }
        answer = self._post(json.dumps(body).encode())
        try:
            content = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"{self.url} gave no chat completion: {json.dumps(answer)[:200]}") from None
        if not isinstance(content, str):
            raise ValueError(f"{self.url} gave a completion without text")
        return content

    def _post(self, body: bytes) -> dict:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})
        for attempt in range(self.retries + 1):
            request = urllib.request.Request(self.url, data=body, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if error.code not in _WORTH_ANOTHER_TRY or attempt == self.retries:
                    raise ValueError(f"{self.url} answered {error.code}: {error.read(300).decode(errors='replace')}") from error
            except (urllib.error.URLError, TimeoutError) as error:
                if attempt == self.retries:
                    raise ValueError(f"{self.url} cannot be reached: {error}") from error
            time.sleep(self.pause * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("patents", type=Path, help="patents.parquet or patents.jsonl")
    parser.add_argument("output", type=Path, help="the same records with summaries, .parquet or .jsonl")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--cache", type=Path, help="default: the output file with .summaries.sqlite")
    parser.add_argument("--allow-missing", action="store_true", help="write the output even if some summaries could not be made")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    summariser = OpenAISummariser(options.base_url, options.model, os.environ.get("OPENAI_API_KEY"))
    try:
        with SummaryCache(options.cache or options.output.with_suffix(".summaries.sqlite")) as cache:
            patents = summarise(read_patents(options.patents), summariser, cache, allow_missing=options.allow_missing)
        write_patents(options.output, patents)
    except PatentMTEBError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
