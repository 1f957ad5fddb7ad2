"""Sequences of pictures as a GIF, by Pillow, or as an MP4, by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from limber.errors import MissingProgramError
from limber.whole import replacing


def ffmpeg() -> str:
    """The path of ffmpeg: that of the machine, or of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # noqa: PLC0415 (few have it)

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingProgramError(
            "MP4 files are written by the program ffmpeg, which is not installed. Install it (apt install ffmpeg, brew "
            "install ffmpeg), or run `pip install imageio-ffmpeg`, which includes it; or write a .gif, which does not "
            "need it."
        ) from None


def write_gif(frames: Iterable[Any], file: Path, hundredths: int) -> None:
    """Write a GIF whose frames last this many hundredths of a second each."""
    images: list[Any] = []
    for frame in frames:
        images.append(_few_colours(frame, images[0] if images else None))
    first, *others = images
    with replacing(file) as stream:
        first.save(
            stream, "GIF", save_all=True, append_images=others, duration=10 * hundredths, loop=0,
            disposal=1,
        )  # fmt: skip


def write_mp4(frames: Iterable[Any], file: Path, fps: float) -> None:
    """Write an MP4 file; the frames are passed to ffmpeg as they are made."""
    program, pictures = ffmpeg(), iter(frames)
    first = next(pictures)
    with tempfile.TemporaryDirectory(prefix="limber-") as folder:
        made, said = Path(folder) / "made.mp4", Path(folder) / "said.txt"
        command = [program, *_options(first.size, fps), str(made)]
        with said.open("wb") as words:
            code = _fed(command, chain([first], pictures), words)
        if code != 0 or not made.is_file():
            lines = said.read_text(errors="replace").strip().splitlines()
            raise MissingProgramError(
                f"ffmpeg could not write {file.name} (exit code {code}): {' '.join(lines[-3:])[:300]}"
            )
        with replacing(file) as stream, made.open("rb") as source:
            shutil.copyfileobj(source, stream)


def _fed(command: list[str], frames: Iterable[Any], words: IO[bytes]) -> int:
    """The exit code of a program that receives the pixels of frames, and whose messages go to `words`."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=words) as process:
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):  # it has ended, and has said why
                for frame in frames:
                    process.stdin.write(frame.tobytes())
                process.stdin.flush()
        except BaseException:
            process.kill()
            raise
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
    return process.returncode


def _options(size: tuple[int, int], fps: float) -> list[str]:
    """Raw frames in, a file out that browsers play and that is the same for the same frames."""
    width, height = size
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}"]
    even = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"
    made = ["-an", "-vf", even, "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    same = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]
    return ["-loglevel", "error", "-y", *given, "-i", "-", *made, *same]


def _few_colours(picture: Any, first: Any) -> Any:
    """A picture in the palette of the first one, or in its own palette with a white background."""
    from PIL import Image  # noqa: PLC0415

    method, none = Image.Quantize.FASTOCTREE, Image.Dither.NONE
    if first is not None:
        return picture.quantize(64, method, palette=first, dither=none)
    made = picture.quantize(64, method, dither=none)
    colours = made.getpalette()
    background = made.getpixel((0, 0))
    colours[3 * background : 3 * background + 3] = [255, 255, 255]
    made.putpalette(colours)
    return made
