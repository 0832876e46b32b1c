"""Patent families by five definitions.

Sources define patent families differently, so a build chooses a definition (:data:`DEFINITIONS`) and records it.

Many lists state no family, or state one for some publications only. ``joined`` fills these gaps (:data:`RULES`). It
joins two families that the source states only if publications of one application are in both.

A ``families.parquet`` (``publication_number``, ``family_id``) has the families of another source. It may include
publications without a record, so that a citation of one of them leads to a family member with a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed
from patent_mteb.patents.numbers import Number, read_application, read_number
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import RELATED_PUBLICATIONS, Patent, Relation
from patent_mteb.patents.tables import column_of, first_of_connected, frame_of

DEFINITIONS = {
    "given": "the family_id of the records and of families.parquet (DOCDB, INPADOC, or whatever their source means)",
    "joined": "those of the source, joined by application, and without one also by priorities and lists of members",
    "application": "publications of one application",
    "simple": "applications that claim exactly the same priorities; one that claims none is its own priority",
    "extended": "all that any relation, application or given family connects, directly or through others",
}
"""Name of a definition -> what it means."""

RULES = {
    "application": "one application: its number, or one office and serial of its publications",
    "priorities": "exactly the same priorities, where the source states no family",
    "members": "lists of members that share a publication, where the source states no family",
}
"""Rules of the definition ``joined``, in order -> what joins two families."""


def families_of(families: Mapping[str, str]) -> pl.DataFrame:
    """Return a table of families: ``number`` of a publication, which may have no record, and ``family``."""
    return frame_of(families.items(), {"number": pl.String, "family": pl.String})


def read_families(path: Path | str) -> pl.DataFrame:
    """Read a ``families.parquet`` as a table of :func:`families_of`."""
    table = read_keyed(path := Path(path), {"family_id": pa.string()}, key="publication_number")
    families = pl.DataFrame(pl.from_arrow(table)).select(number="publication_number", family="family_id")
    empty = families["family"].fill_null("").index_of("")
    if empty is not None:
        problem = f"publication '{families['number'][empty]}' has no family_id"
        raise DataError(problem, path=path, row=empty + 1, remedy="fill it, or delete the row")
    return families


_SEPARATE: dict[str, Callable[[str], bool]] = {
    "JP": lambda serial: serial[0].isalpha(),  # years of an emperor, to 1999
    "CN": lambda serial: len(serial) == 7,  # to 2007
    "AU": lambda serial: len(serial) < 10,  # to 2001
    "PL": lambda serial: True,
}
"""Offices that number applications and patents separately -> whether a serial is one of these."""

_FIRST_LETTERS = {"": "A", "B": "A", "C": "A", "Y": "U", "Z": "U", "T": "D"}
"""Letter of a kind code -> the first letter of its series of numbers (WIPO standard ST.16)."""

_SERIES_AT = {"DET5": "A", **{office + letter: "A" for office in ("DK", "FI", "NO", "SE") for letter in ("D0", "L")}}
"""Office and start of a kind code -> its series, where ST.16 leaves it open.

DE T5 is the German text of a PCT application, with the number of its B4. D0 and L are the application, published before
its A or B (Nordic offices).
"""


def series_of(number: Number) -> str:
    """Return the letter of a number's series: publications of one application with one serial have the same.

    Patents and utility models have different series, and so have applications and patents at some offices.
    """
    letter = number.kind[:1]
    if (separate := _SEPARATE.get(number.office)) and separate(number.serial):
        return letter
    own = _SERIES_AT.get(number.office + number.kind, _SERIES_AT.get(number.office + letter))
    return own or _FIRST_LETTERS.get(letter, letter)


_UNREAD = "unread "


def _application_name(text: str, publication: str) -> str | None:
    """Return the normal form of an application number, None for a text without a digit.

    A number without an office has that of its publication.
    """
    own = read_number(publication) if publication else None
    number = read_application(text, own.office) if own else read_application(text)
    if number or not any(map(str.isdigit, text)):
        return number.key if number else None
    return f"{_UNREAD}{own.office if own else ''} {text.strip()}"


_PARSED = dict.fromkeys(("name", "key", "kind", "series"), pl.String)


def parsed(numbers: pl.Series) -> pl.DataFrame:
    """Read publication numbers.

    Returns:
        A row for each ``number``, in order: ``name`` is its normal form, or the text if it cannot be read. One that can
        be read has a ``key`` (office and serial), a ``kind`` (empty if unknown) and the letter of its ``series``.
    """
    return numbers.alias("number").to_frame().hstack(frame_of(map(_parsed, numbers), _PARSED))


def _parsed(text: str | None) -> tuple[str | None, ...]:
    number = read_number(text) if text is not None else None
    if number is None:
        return None if text is None else text.strip(), None, None, None
    return number.docdb, number.key, number.kind, series_of(number)


def completed(numbers: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Give numbers without kind code the name and series of the only known publication that they can be.

    Both are tables of :func:`parsed` numbers.

    Returns:
        ``key``, ``name`` and ``series`` of each number.
    """
    numbers = numbers.select("key", "name", "series", without=pl.when(pl.col("kind") == "").then("key"))
    without = numbers.select(key="without").drop_nulls()
    alone = known.select("key", "name", "series").join(without, on="key", how="semi").unique()
    alone = alone.filter(pl.len().over("key") == 1).rename({"key": "without"})
    if not alone.is_empty():
        numbers = numbers.join(alone, on="without", how="left", suffix="_known", maintain_order="left")
        full = {name: pl.coalesce(f"{name}_known", name) for name in ("name", "series")}
        numbers = numbers.with_columns(**full)
    return numbers.select("key", "name", "series")


_STATED = {"publication": pl.String, "kind": pl.String, "related": pl.String}
_IS_PUBLICATION = pl.col("kind").is_in(RELATED_PUBLICATIONS)
_IS_PRE_GRANT = pl.col("kind") == "pre-grant"
_IS_FILED = (pl.col("kind") == "application") & pl.col("application").is_not_null()
_IS_CLAIMED = pl.col("kind").is_in(["priority", "provisional"]) & pl.col("application").is_not_null()


class Publications:
    """The publications that records, a table of families and relations name, with their applications and families.

    Records that write a number differently are of one publication, which has its name (:func:`parsed`).

    Attributes:
        numbers: the :func:`parsed` numbers of the records, then of the table.
        records: ``row``, ``number``, ``family``, ``day``, ``publication`` and ``application`` (null if unknown) of each
            record.
        relations: ``publication``, ``kind``, and ``related`` publication or ``application`` of each relation, and
            whether the latter ``has_letter``.
        own: each ``publication`` with a stated ``family``, its ``number`` as its record writes it, else its name, and
            whether it ``is_record``. The table wins over records.
    """

    def __init__(
        self, patents: Sequence[Patent], relations: Iterable[Relation] = (), families: pl.DataFrame | None = None
    ) -> None:
        table, families = publications(patents), families_of({}) if families is None else families
        self.numbers = parsed(pl.concat([table["number"], families["number"]]))
        known = completed(self.numbers, self.numbers)
        names = known["name"].alias("publication")
        applications = column_of(map(_application_name, table["application"], names))  # ends with the records
        self.records = table.with_columns(names.head(len(table)), application=applications)

        of_records = self.records.select("publication", "family", "number", is_record=True)
        of_table = families.select(names.tail(len(families)), "family", number=pl.lit(None, pl.String), is_record=False)
        by_publication = pl.concat([of_records, of_table]).group_by("publication", maintain_order=True)
        own = by_publication.agg(pl.col("family").last(), pl.col("number").drop_nulls().last(), pl.any("is_record"))
        self.own = own.with_columns(number=pl.coalesce("number", "publication"))

        stated = frame_of(((one.number, one.kind, one.related) for one in relations), _STATED)
        subjects = completed(parsed(stated["publication"]), self.numbers)
        objects = completed(parsed(stated.select(pl.when(_IS_PUBLICATION).then("related"))["related"]), self.numbers)
        files = pl.when(pl.col("kind") == "application")
        offices_of = stated.select(files.then(subjects["name"]).otherwise(pl.lit(""))).to_series()
        applications = column_of(map(_application_name, stated["related"], offices_of))
        self.relations = stated.select(
            "kind",
            publication=subjects["name"],
            related=objects["name"],
            application=pl.when(~_IS_PUBLICATION).then(applications),
            has_letter=pl.col("related").str.contains(r"\pL"),
        )
        ends = (frame.select("key", "series", publication="name") for frame in (known, subjects, objects))
        self._series = pl.concat(ends).drop_nulls().unique("publication")

    @property
    def _filed(self) -> pl.DataFrame:
        """The applications of publications."""
        tables = self.records, self.relations.filter(_IS_FILED)
        return pl.concat([one.select("publication", "application") for one in tables]).drop_nulls()

    def _of_applications(self, further: pl.Series | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return what connects the publications of an application, and the publications that may have others.

        These are ``further`` ones, those of records, and those with an application or a publication before grant in the
        relations.
        """
        ends = pl.when(_IS_FILED | _IS_PRE_GRANT).then("publication"), pl.when(_IS_PRE_GRANT).then("related")
        named = self.relations.select(pl.concat_list(*ends).alias("publication")).explode("publication")
        tables = [self.records.select("publication"), named]
        if further is not None:
            tables.insert(0, further.to_frame())
        found = pl.concat(tables).drop_nulls().unique(maintain_order=True)
        filed, pre_grant = self._filed, self.relations.filter(_IS_PRE_GRANT)
        first = filed.unique("publication", keep="first", maintain_order=True)
        of_series = found.join(self._series, on="publication").join(first, on="publication", how="left")
        # not a PCT application: its publication has a national number too
        contradicts = ~pl.col("application").str.contains(f"^(WO|{_UNREAD})")
        one_application = pl.col("application").filter(contradicts).n_unique().over("key", "series") <= 1
        of_series = of_series.filter(one_application)
        links = (
            _links("application", filed["application"], filed["publication"]),
            *_pairs("pre-grant", pre_grant),
            _links("series", of_series["key"] + of_series["series"], of_series["publication"]),
        )
        return pl.concat(links), found

    def by_application(self) -> pl.DataFrame:
        """Return each ``publication`` and the ``group`` of those of its application."""
        links, found = self._of_applications()
        return _with_groups(found, _connected(links))

    def _equal_bases(self, groups: pl.DataFrame) -> pl.DataFrame:
        """Return the groups that share their ``basis``: the priorities that a group claims, else its applications."""
        claims = self.relations.filter(_IS_CLAIMED & pl.col("has_letter")).select("publication", "application")
        claimed, filed = (_with_groups(one, groups).select("group", "application") for one in (claims, self._filed))
        bases = pl.concat([claimed, filed.join(claimed, on="group", how="anti")]).group_by("group")
        basis = pl.col("application").unique().sort().str.join("\n")
        return bases.agg(basis=basis).filter(pl.len().over("basis") > 1)

    def _with_members(self) -> pl.DataFrame:
        """Return each ``publication`` with its own ``family``, or with that of the last to name it."""
        own = self.own.select("publication", "family")
        naming = self.relations.filter(_IS_PUBLICATION).join(own, on="publication", maintain_order="left")
        named = naming.select("family", publication="related").join(own, on="publication", how="anti")
        others = named.group_by("publication", maintain_order=True).agg(pl.col("family").last())
        return pl.concat([own, others])

    def _stated(self) -> pl.DataFrame:
        """Return each ``publication`` whose family the source states: its id is not a number that replaces it."""
        families = self.own["family"].unique()
        numbers = column_of(one for one in families if read_number(one) or read_application(one))
        is_number = (pl.col("family") == pl.col("publication")) | (pl.col("family") == pl.col("number"))
        return self.own.filter(~is_number & ~pl.col("family").is_in(numbers.implode())).select("publication")

    def _joined(self) -> tuple[pl.DataFrame, dict[str, int]]:
        own, stated = self._with_members(), self._stated()
        links, found = self._of_applications(own["publication"])
        table = found.join(own, on="publication", how="left", maintain_order="left")
        table = table.with_columns(pl.coalesce("family", "publication"))
        table = _with_records(table, self.own)
        records = table.filter("is_record")
        sizes = [records["family"].n_unique()]

        def connected(*further: pl.DataFrame) -> pl.DataFrame:
            nonlocal links
            links = pl.concat([links, *further])
            groups = _connected(links)
            sizes.append(_with_groups(records, groups)["group"].n_unique())
            return groups

        applications = _connected(links)
        by_family = connected(_links("family", table["family"], table["publication"]))
        lists = self.relations.filter(pl.col("kind") == "member").join(stated, on="publication", how="anti")
        settling = pl.concat([stated, lists.select("publication")])
        settled = _with_groups(records.join(settling, on="publication", how="semi"), applications)["group"]
        bases = self._equal_bases(applications)
        families = _with_groups(bases.select(publication="group"), by_family)["group"]
        bases = bases.with_columns(families.alias("family"), is_settled=pl.col("group").is_in(settled.implode()))
        settled_families = pl.col("family").filter("is_settled").n_unique().over("basis")
        bases = bases.filter(~pl.col("is_settled") | (settled_families == 1))
        connected(_links("basis", bases["basis"], bases["group"]))
        groups = connected(*_pairs("list", lists))
        joined = _with_groups(table, groups).with_columns(_least("family").alias("family"))
        return joined, {rule: before - after for rule, (before, after) in zip(RULES, pairwise(sizes), strict=True)}

    def _derived(self, definition: str) -> pl.DataFrame:
        """Return each ``publication`` with its ``family``, which is named after the first publication."""
        links, _ = self._of_applications()
        related = self.relations.filter(_IS_PUBLICATION)
        if definition == "simple":  # equal sets of priorities: the DOCDB simple family, as far as relations are known
            bases = self._equal_bases(_connected(links))
            links = pl.concat([links, _links("basis", bases["basis"], bases["group"])])
        if definition == "extended":
            claims = self.relations.drop_nulls("application")
            by_application = _links("application", claims["application"], claims["publication"])
            by_family = _links("family", self.own["family"], self.own["publication"])
            links = pl.concat([links, *_pairs("related", related), by_application, by_family])
        named = (self.own["publication"], self.relations["publication"], related["related"])
        found = pl.concat([one.alias("publication") for one in named]).unique(maintain_order=True)
        table = _with_groups(_with_records(found.to_frame(), self.own), _connected(links))
        first = table.with_columns(publication=_least("publication"))
        return found.to_frame().hstack([self._written(first).alias("family")])

    def _written(self, table: pl.DataFrame) -> pl.Series:
        """Return the number of each ``publication`` as its record writes it, without a record its name."""
        known = table.select("publication").join(self.own, on="publication", how="left", maintain_order="left")
        return known.select(pl.coalesce("number", "publication")).to_series()

    def families(self, definition: str) -> tuple[pl.DataFrame, pl.Series, dict[str, int]]:
        """Return the families of all publications (as :func:`families_of`), and of the records, by a definition.

        For ``joined``, return also how many families each of :data:`RULES` joins to another.
        """
        counts: dict[str, int] = {}
        if definition == "given":
            table = self._with_members()
        elif definition == "joined":
            table, counts = self._joined()
        else:
            table = self._derived(definition)
        of_records = self.records.select("publication").join(table, on="publication", how="left", maintain_order="left")
        return table.select(self._written(table).alias("number"), "family"), of_records["family"], counts


def _links(kind: str, group: pl.Series, member: pl.Series) -> pl.DataFrame:
    """Return what connects the members of each group; groups of another kind have other names."""
    return pl.DataFrame({"group": f"{kind} " + group, "member": member})


def _pairs(kind: str, relations: pl.DataFrame) -> list[pl.DataFrame]:
    """Return what connects both publications of some relations."""
    ends = relations["publication"], relations["related"]
    return [_links(kind, ends[0], end) for end in ends]


def _connected(links: pl.DataFrame) -> pl.DataFrame:
    """Return each connected ``publication`` and the first of its ``group``."""
    return first_of_connected(links).rename({"member": "publication", "first": "group"})


def _with_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Add the ``group`` of each ``publication``; without others it is one by itself."""
    found = table.join(groups, on="publication", how="left", maintain_order="left")
    return found.with_columns(pl.coalesce("group", "publication").alias("group"))


def _with_records(table: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    records = own.filter("is_record")["publication"]
    return table.with_columns(is_record=pl.col("publication").is_in(records.implode()))


def _least(name: str) -> pl.Expr:
    """The least value of records in the ``group``, without a record of all."""
    value = pl.col(name)
    return pl.coalesce(value.filter("is_record").min().over("group"), value.min().over("group"))
