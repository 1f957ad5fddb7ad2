"""Check the wheel and the source archive in a folder: what they hold, and that the wheel runs.  `make dist` calls it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What the source archive must have besides all that the wheel is made of.
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
TRY = """
import sys
sys.path.insert(0, sys.argv[1])
import limber as lb
from limber.cli.examples import folder
assert lb.__file__.startswith(sys.argv[1]), lb.__file__
s = lb.load(folder() / "two_link.urdf").build()
print(lb.__version__, lb.forward_dynamics(s, [0.1, 0.2], [0, 0], [0, 0]))
lb.viewer.report, lb.control.datasheet("honeywell-hr16-50"), lb.io.schema()
"""


def sources() -> dict[str, Path]:
    """The files of a wheel by their names in it."""
    files = {}
    for folder, place in (
        (ROOT / "src" / "limber", "limber"),
        (ROOT / "examples", "limber/examples"),
    ):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files[f"{place}/{path.relative_to(folder).as_posix()}"] = path
    return files


def check_wheel(wheel: Path) -> None:
    """The wheel has the package and its examples, byte for byte, its metadata, and nothing else."""
    expected = sources()
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert names == set(expected), sorted(names ^ set(expected))
        for name, path in expected.items():
            assert archive.read(name) == path.read_bytes(), f"{name} differs from {path}"
        with tempfile.TemporaryDirectory() as folder:
            archive.extractall(folder)
            done = subprocess.run(
                [sys.executable, "-I", "-c", TRY, folder],
                check=True,
                capture_output=True,
                text=True,
            )
    print(
        f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.2f} MB; {done.stdout.strip()}"
    )


def check_sdist(sdist: Path) -> None:
    """The source archive has what the wheel is made of, and no build outputs."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {path.relative_to(ROOT).as_posix() for path in sources().values()} | set(NEEDED)
    assert needed <= names, sorted(needed - names)
    made = [n for n in names if n.split("/")[0] in ("build", "dist", "out", ".venv", ".git")]
    assert not made, made
    print(f"{sdist.name}: {len(names)} files, {sdist.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    dist = Path(sys.argv[1])
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
