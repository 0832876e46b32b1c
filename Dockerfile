# Without torch: own data, BM25, scores of other systems, fusion and reports.
#   docker build -t patent-mteb .
#   docker run --rm -v "$PWD:/work" patent-mteb run -t PatentCitationRetrieval -m bm25
FROM python:3.11-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE requirements-light.txt patent_mteb_autoload.pth patent_mteb_autoload.py ./
COPY patent_mteb ./patent_mteb
RUN python -m pip install --no-cache-dir --no-compile --no-deps -r requirements-light.txt .
WORKDIR /work
ENTRYPOINT ["patent-mteb"]
CMD ["--help"]
