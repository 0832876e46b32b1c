"""Requests to the hub, their answers, and their caches."""

from pathlib import Path

import pytest
from hub_server import Repository
from huggingface_hub import constants, hf_hub_download

from patent_mteb.data.hub import cached_commit, commit_of, fetch, forget, matches_pin
from patent_mteb.data.loading import DataSet, resolve, with_commit
from patent_mteb.errors import AccessError

KEY, FILE = "org/data", "test/data.parquet"
FILES = {FILE: b"PAR1 rows", "README.md": b"read"}


@pytest.fixture
def repository(hub):
    hub.repositories[KEY] = Repository()
    return hub.repositories[KEY]


def test_a_branch_is_asked_for_once_and_its_files_are_of_one_commit(hub, repository):
    first = repository.commit(FILES)
    assert commit_of(KEY, "main", FILE) == first
    second = repository.commit({FILE: b"PAR1 other rows"})
    assert commit_of(KEY, "main", FILE) == first  # this process has begun with it
    assert fetch(KEY, first, FILE).read_bytes() == FILES[FILE]
    forget()
    assert commit_of(KEY, "main", FILE) == second
    assert fetch(KEY, second, FILE).read_bytes() == b"PAR1 other rows"
    assert [path for method, path in hub.log if "/main/" in path] == [
        f"/datasets/{KEY}/resolve/main/test/data.parquet"
    ] * 2


def test_the_head_of_a_missing_file_names_the_commit_too(repository):
    commit = repository.commit(FILES)
    assert commit_of(KEY, "main", "nowhere.csv") == commit


@pytest.mark.parametrize("lenient", [True, False])
def test_a_short_hash_is_the_commit_that_begins_so(repository, lenient):
    repository.lenient = lenient
    commit = repository.commit(FILES, sha="6ce1198")
    repository.commit({FILE: b"PAR1 other rows"}, sha="8610033")
    assert commit_of(KEY, "6ce1198", FILE) == commit
    assert fetch(KEY, commit, FILE).read_bytes() == FILES[FILE]


def test_a_short_hash_of_two_commits_is_none(repository):
    for end in ("0", "1"):
        repository.commit(FILES, sha=f"6ce1198{end}")
    with pytest.raises(AccessError, match="the hub has no revision 6ce1198 of the data set org/data"):
        commit_of(KEY, "6ce1198", FILE)


def test_the_cache_answers_where_the_hub_cannot(hub, repository, monkeypatch):
    commit = repository.commit(FILES)
    fetch(KEY, commit_of(KEY, "main", FILE), FILE)
    short = DataSet(KEY, "", commit[:7])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.log)
    forget()
    assert commit_of(KEY, "main", FILE) == cached_commit(KEY, "main") == commit
    assert cached_commit(KEY, commit[:7]) == resolve(short).revision == commit
    assert fetch(KEY, commit, FILE).read_bytes() == FILES[FILE]
    assert len(hub.log) == asked
    with pytest.raises(
        AccessError, match=r"other\.csv: the data set org/data at revision .* offline mode.*unset HF_HUB_OFFLINE"
    ):
        fetch(KEY, commit, "other.csv")


def test_what_the_client_itself_left_in_its_cache_is_known(repository):
    commit = repository.commit(FILES)
    hf_hub_download(KEY, FILE, repo_type="dataset")
    assert cached_commit(KEY, "main") == commit
    assert resolve(DataSet(KEY, "", "main")).revision == commit


@pytest.mark.parametrize("content", ["", "main", "0" * 39, "../../etc"])
def test_a_note_that_names_no_commit_is_none(repository, content):
    repository.commit(FILES)
    hf_hub_download(KEY, FILE, repo_type="dataset")
    (note,) = Path(constants.HF_HUB_CACHE).rglob("refs/main")
    note.write_text(content)
    assert cached_commit(KEY, "main") == ""


def test_resolving_sends_no_request(hub, repository):
    repository.commit(FILES)
    for revision in ("main", "6ce1198", "a" * 40):
        assert resolve(DataSet(KEY, "", revision)).revision == revision
    assert hub.log == []
    assert with_commit(resolve(DataSet(KEY, "", "main"))).revision == repository.branches["main"]


def gate(hub, repository, monkeypatch):
    repository.gated = True
    monkeypatch.setenv("HF_TOKEN", "hf_stranger")


def gone(hub, repository, monkeypatch):
    hub.repositories.clear()


def unplugged(hub, repository, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/resolve/{revision}/{filename}"
    )


def offline(hub, repository, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def status(code):
    return lambda hub, repository, monkeypatch: setattr(hub, "status", code)


def rewritten(hub, repository, monkeypatch):
    repository.commits.clear()
    repository.branches.clear()


def without_file(hub, repository, monkeypatch):
    for files in repository.commits.values():
        files.pop(FILE)


def slow(hub, repository, monkeypatch):
    hub.delay = 1.0
    monkeypatch.setattr("huggingface_hub.file_download._ETAG_RETRY_TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.2)


PROBLEMS = [
    pytest.param(
        gate, "access to the data set org/data is not granted, it is gated", "accept its conditions at", id="gate"
    ),
    pytest.param(gone, "the hub has no data set org/data", "upgrade patent-mteb", id="no such data set"),
    pytest.param(rewritten, "the hub has no revision", "upgrade patent-mteb", id="no such revision"),
    pytest.param(
        without_file,
        r"the data set org/data has no file test/data\.parquet at revision",
        "upgrade patent-mteb",
        id="no such file",
    ),
    pytest.param(status(503), r"the hub failed at the data set org/data .HTTP 503", "try again later", id="503"),
    pytest.param(status(429), "too many requests", "try again later", id="429"),
    pytest.param(status(403), r"refuses access to the data set org/data .HTTP 403", "look at the token", id="403"),
    pytest.param(status(200), "does not answer as the hub does", "correct or unset HF_ENDPOINT", id="no hub"),
    pytest.param(
        unplugged, "the hub at http://127.0.0.1:9 cannot be reached", "connect to the network", id="no network"
    ),
    pytest.param(offline, "the hub is not asked in offline mode", "unset HF_HUB_OFFLINE", id="offline"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("breaks", "problem", "remedy"), PROBLEMS)
def test_an_error_says_what_happened_and_is_remembered(hub, repository, monkeypatch, breaks, problem, remedy):
    commit = repository.commit(FILES)
    breaks(hub, repository, monkeypatch)
    source = resolve(DataSet(KEY, "dapfam", commit))
    for attempt in range(3):
        with pytest.raises(AccessError, match=problem) as caught:
            source.path(FILE)
        for part in (remedy, FILE, "or put a copy in $PATENT_MTEB_DATA/org/data", "PATENT_MTEB_SAMPLE=1"):
            assert part in str(caught.value)
        if not attempt:
            asked = len(hub.log)
    assert len(hub.log) == asked


def test_a_slow_hub_is_given_up_once(hub, repository, monkeypatch):
    commit = repository.commit(FILES)
    slow(hub, repository, monkeypatch)
    with pytest.raises(AccessError, match="cannot be reached"):
        fetch(KEY, commit, FILE)
    asked = len(hub.log)
    with pytest.raises(AccessError, match="cannot be reached"):
        fetch(KEY, commit, FILE)
    assert len(hub.log) == asked


def test_a_missing_file_does_not_keep_from_the_others_and_a_new_token_opens_the_gate(hub, repository, monkeypatch):
    commit = repository.commit(FILES)
    with pytest.raises(AccessError, match=r"has no file nowhere\.csv"):
        fetch(KEY, commit, "nowhere.csv")
    assert fetch(KEY, commit, FILE).exists()
    repository.gated = True
    with monkeypatch.context() as stranger:
        stranger.setenv("HF_TOKEN", "hf_stranger")
        with pytest.raises(AccessError, match="gated"):
            fetch(KEY, commit, "README.md")
    assert fetch(KEY, commit, "README.md").read_bytes() == b"read"


@pytest.mark.parametrize(
    ("pinned", "revision", "real"),
    [
        ("a" * 40, "a" * 40, True),
        ("a" * 40, "b" * 40, False),
        ("a" * 40, "a" * 7, False),
        ("a" * 7, "a" * 40, True),
        ("a" * 7, "a" * 7, True),
        ("a" * 7, "a" * 8, False),
        ("a" * 7, "b" * 40, False),
        ("main", "b" * 40, True),
        ("main", "main", False),
        ("main", "local-" + "b" * 12, False),
        ("main", "", False),
        ("", "", False),
        ("", "b" * 40, False),
    ],
)
def test_which_revisions_a_pin_allows(pinned, revision, real):
    assert matches_pin(pinned, revision) is real


@pytest.mark.parametrize("name", [FILE, "README.md"])
def test_a_damaged_file_of_the_cache_is_fetched_again(hub, repository, monkeypatch, caplog, name):
    """Half of a file, as a broken transfer leaves it: under the hash of a large file, or git's of a small one."""
    commit = repository.commit(FILES)
    path = fetch(KEY, commit, name)
    path.resolve().write_bytes(FILES[name][:2])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(AccessError, match=r"the cached file is damaged.*unset HF_HUB_OFFLINE"):
        fetch(KEY, commit, name)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert fetch(KEY, commit, name).read_bytes() == FILES[name]
    assert "it is downloaded again" in caplog.text
    asked = len(hub.log)
    assert fetch(KEY, commit, name).read_bytes() == FILES[name] and len(hub.log) == asked
