"""Study files: a scenario, what varies in it, how cases are sampled and what is kept of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Annotated, Any, ClassVar

from limber.campaigns.quantities import QuantitySection
from limber.campaigns.sampling import COUNTED, LISTED, MOST_CASES
from limber.campaigns.study import ENGINES, Study, scenario_base, study_of
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.io.document import Document, Where
from limber.io.fields import Check, FileName, Flag, Name, Text, choice, named, problem, whole
from limber.io.files import file_path
from limber.io.files_read import files_read
from limber.io.model import FORMAT, check_format
from limber.io.section import Section, validated
from limber.scenarios.json_schema import section_schema
from limber.scenarios.scenario import scenario_document

Count = Annotated[int, whole(1, MOST_CASES)]


def _distribution(value: Any) -> Any:
    if not isinstance(value, dict | list):
        raise problem(
            f"must be a distribution such as {{uniform: [0.8, 1.2]}}, or a list of values; got {named(value)}."
        )
    return value


def _correlations(value: Any) -> Any:
    if not isinstance(value, list):
        raise problem(f"must be a list of [variable, variable, coefficient], got {named(value)}.")
    return value


def _scenario(value: Any) -> Any:
    if isinstance(value, str):
        return FILE.check(value)
    if not isinstance(value, dict):
        raise problem(f"must be the name of a scenario file, or a scenario; got {named(value)}.")
    return value


FILE: Check = FileName.__metadata__[0]  # type: ignore[attr-defined]
Drawn = Annotated[Any, Check(_distribution, {"type": ["object", "array"]})]
Scenario = Annotated[Any, Check(_scenario, {"type": ["string", "object"]})]


class SampleSection(Section):
    """How cases are chosen: one of monte_carlo, latin_hypercube, sobol, halton, saltelli with a number; grid or listed."""

    one_of: ClassVar[tuple[str, ...]] = (*COUNTED, *LISTED)
    short: ClassVar[str] = "grid, listed"
    monte_carlo: Count | None = None
    latin_hypercube: Count | None = None
    sobol: Count | None = None
    halton: Count | None = None
    saltelli: Count | None = None
    grid: Flag | None = None
    listed: Flag | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """`sample: grid`."""
        return {data: True} if data in LISTED else data

    @property
    def method(self) -> str:
        """The name of the method."""
        return next(name for name in self.one_of if getattr(self, name) is not None)

    @property
    def count(self) -> int | None:
        """The number of cases, or of base points for saltelli; None for methods with listed values."""
        return None if self.method in LISTED else getattr(self, self.method)


class StudySection(Section):
    """A study file, whole."""

    limber: Annotated[int, whole(FORMAT, FORMAT)]
    name: Text | None = None
    description: Text = ""
    scenario: Scenario
    vary: dict[Name, Drawn]
    correlate: Annotated[Any, Check(_correlations, {"type": "array"})] | None = None
    sample: SampleSection
    seed: Annotated[int, whole(0, 2**63)] = 0
    keep: dict[Name, QuantitySection]
    histories: Flag = False
    engine: Annotated[str, choice(*ENGINES)] = "general"
    unit: Count | None = None


def is_study(document: Document) -> bool:
    """Whether a file is a study."""
    return isinstance(document.data, dict) and "scenario" in document.data


def load_study(
    path: str | PathLike,
    *,
    keep: Mapping[str, Any] | None = None,
    samples: int | None = None,
    engine: str | None = None,
) -> Study:
    """Load the study of a file, without running it.

    path : of the file; files that it names are relative to its folder.
    keep : further quantities, for instance functions of a Result.
    samples, engine : override the file.
    """
    with files_read() as inputs:
        document = Document(file_path(path))
        check_format(document)
        root = document.root
        if not is_study(document):
            raise root.error(
                "this is not a study: a study has a `scenario`, and `vary`, which says what varies. To run a scenario "
                "itself, use `limber simulate`."
            )
        section = validated(StudySection, document.data, root)
        where, data = _scenario_data(section.scenario, root)
        base = scenario_base(where, data, {})
    recorded = (document.path, where.document.path)  # by their content, whatever their comments
    try:
        return study_of(
            base,
            None,
            vary=section.vary,
            correlate=section.correlate,
            samples=section.sample.count if samples is None else samples,
            method=section.sample.method,
            seed=section.seed,
            keep={**document.data["keep"], **(keep or {})},
            histories=section.histories,
            engine=section.engine if engine is None else engine,
            unit=section.unit,
            name=section.name or document.path.stem,
            options={},
            description=section.description,
            file=document.path,
            inputs=[path for path in inputs if path not in recorded],
            flags=_flags(samples=samples, engine=engine),
        )
    except (ArgumentValueError, ArgumentTypeError) as error:
        named_entry = re.match(r"(vary|keep)\[['\"](.+?)['\"]\]", str(error))
        if named_entry is None and str(error).startswith("correlate: "):
            raise root.error(str(error).removeprefix("correlate: "), "correlate") from error
        if named_entry is None:
            raise root.error(str(error)) from error
        said = str(error)[named_entry.end() :].lstrip(":. ")  # the place says which entry it is
        raise root.error(said, *named_entry.groups()) from error


def _flags(**given: Any) -> tuple[str, ...]:
    """Options of the command line that override the file."""
    return tuple(
        x for name, value in given.items() if value is not None for x in (f"--{name}", str(value))
    )


def _scenario_data(given: Any, root: Where) -> tuple[Where, Any]:
    """The place and the content of the scenario of a study."""
    if isinstance(given, str):
        with (root / "scenario").checked():
            other = scenario_document(root.folder / given)
        return other.root, other.data
    return root / "scenario", {"limber": FORMAT, **given}


def schema() -> dict[str, Any]:
    """The JSON schema of a study file, for editors."""
    return section_schema(StudySection, "study")
