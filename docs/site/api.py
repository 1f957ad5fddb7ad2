"""Pages of the API reference: every public name, once, under its shortest path.

A package is public if `limber` exports it, or a name that it defines; so is a package in it that has an `__all__`, and a
module in it that has a title here.
Nothing is listed by hand but the order and the titles: a new public name is in the reference without further ado.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import limber

#: Packages in the order of the reference, with titles; others come after these, under their own names.
TITLES = {
    "limber.bodies": "Bodies",
    "limber.joints": "Joints",
    "limber.assembly": "Assemblies and systems",
    "limber.dynamics": "Dynamics",
    "limber.constraints": "Closed systems",
    "limber.simulation": "Simulation",
    "limber.trajectories": "Trajectories",
    "limber.structures": "Structures",
    "limber.models": "Ready-made models",
    "limber.io": "Files",
    "limber.scenarios": "Scenarios",
    "limber.algebra": "Spatial operators",
    "limber.symbolic": "Equations in closed form",
    "limber.codegen": "Generated code",
    "limber.control": "Control",
    "limber.control.sensors": "Sensors",
    "limber.control.actuators": "Actuators",
    "limber.control.attitude": "Attitude control",
    "limber.control.inversion": "Stable inversion",
    "limber.control.optimal": "Optimal control",
    "limber.control.patent": "The controller of US 5,546,508",
    "limber.control.realtime": "Real time",
    "limber.campaigns": "Campaigns",
    "limber.identification": "Identification",
    "limber.exchange": "Learning and exchange",
    "limber.exchange.fmi": "Functional mock-up units",
    "limber.exchange.gym": "Gymnasium environments",
    "limber.orbit": "Orbits",
    "limber.plotting": "Figures",
    "limber.shapes": "Shapes",
    "limber.viewer": "Reports",
    "limber.viewer.live": "The live view",
    "limber.errors": "Errors and warnings",
}


@dataclass
class Page:
    """One page: a package and the public names that it defines, {path: object}."""

    package: str
    names: dict[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.package.removeprefix('limber.')}.rst"

    @property
    def text(self) -> str:
        """The page in reStructuredText."""
        from docstrings import to_rst  # noqa: PLC0415

        title = TITLES.get(self.package, self.package)
        about = inspect.getdoc(importlib.import_module(self.package)) or ""
        names = sorted(self.names, key=lambda path: path.split(".")[-1].lower())
        table = [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names)]
        entries = [line for name in names for line in ("", *_entry(name, self.names[name]))]
        return "\n".join(
            [title, "=" * len(title), "", *to_rst(about.splitlines()), *table, *entries, ""]
        )


def public_packages() -> list[str]:
    """Names of the public packages, those inside of others after them."""
    exported = [getattr(limber, name) for name in [*limber.__all__, "symbolic"]]
    found = {x.__name__ for x in exported if inspect.ismodule(x)}
    found |= {".".join(x.__module__.split(".")[:2]) for x in exported if not inspect.ismodule(x)}
    order = [*TITLES, *sorted(found - set(TITLES))]
    return list(
        dict.fromkeys(inner for name in order if name in found for inner in (name, *_inner(name)))
    )


def public_names() -> dict[str, Any]:
    """Every public name by its full path; an object may have several."""
    names: dict[str, Any] = {f"limber.{name}": getattr(limber, name) for name in limber.__all__}
    for package in public_packages():
        module = importlib.import_module(package)
        names |= {f"{package}.{name}": getattr(module, name) for name in _all(module)}
    return {path: x for path, x in names.items() if not inspect.ismodule(x)}


def pages() -> list[Page]:
    """The pages with all public names, each object once."""
    made = {package: Page(package) for package in public_packages()}
    seen: set[int] = set()
    for path, x in sorted(public_names().items(), key=lambda item: item[0].count(".")):
        if id(x) in seen:
            continue
        seen.add(id(x))
        made[_home(path, x, list(made))].names[path] = x
    return [page for page in made.values() if page.names]


def write(folder: Path) -> None:
    """Write all pages and their index; files that are as they should be keep their dates."""
    made = pages()
    index = [
        "API reference", "=============", "",
        "Every public name, grouped by what it is for. ``import limber as lb`` is assumed in all guides: ``limber.beam``"
        " here is ``lb.beam`` there.", "", ".. toctree::", "   :maxdepth: 1", "",
        *(f"   {page.file.removesuffix('.rst')}" for page in made), "",
    ]  # fmt: skip
    texts = {page.file: page.text for page in made} | {"index.rst": "\n".join(index)}
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _all(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


def _inner(package: str) -> list[str]:
    """Packages inside a public one that say what is public in them."""
    module = importlib.import_module(package)
    inner = [
        f"{package}.{x.name}"
        for x in pkgutil.iter_modules(getattr(module, "__path__", ()))
        if x.ispkg or f"{package}.{x.name}" in TITLES
    ]
    inner = [name for name in inner if _all(importlib.import_module(name))]
    return [
        *(name for name in TITLES if name in inner),
        *(name for name in inner if name not in TITLES),
    ]


def _home(path: str, x: Any, packages: list[str]) -> str:
    """The innermost public package that defines x, or the one that exports it."""
    module = getattr(x, "__module__", None) or path
    places = [p for p in packages if f"{module}.".startswith(f"{p}.")]
    return max(places, key=len) if places else path.rpartition(".")[0]


def _entry(path: str, x: Any) -> list[str]:
    if inspect.isclass(x):
        kind = "autoexception" if issubclass(x, BaseException) else "autoclass"
        bases = ["   :show-inheritance:"] if any(_is_public(base) for base in x.__bases__) else []
        return [f".. {kind}:: {path}", "   :members:", *bases]
    return [f".. {'autofunction' if callable(x) else 'autodata'}:: {path}"]


def _is_public(x: type) -> bool:
    return x.__module__.startswith("limber.") and any(x is y for y in public_names().values())
