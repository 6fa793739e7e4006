"""Frames into an mp4 file, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.agents.base import JobFailed
from agentpost_offline.making.video.film import RATE

if TYPE_CHECKING:
    from PIL.Image import Image

_OPTIONS = {"crf": "21", "preset": "veryfast", "threads": "2"}
_STILL = {"tune": "stillimage", "rc-lookahead": "15"}
_MOVING = {"x264-params": "mbtree=0:rc-lookahead=5:subme=1:ref=1"}
"""Half the work for pictures that all differ a little; the files are larger."""
_SLACK = 0.6


def encode(frames: Iterator[Image], path: Path, size: tuple[int, int], *, still: bool) -> int:
    """Write the frames as H.264, playable while it loads; returns how many there were.

    Args:
        frames: in the film's size; the same object again means the same picture.
        path: of the mp4 file.
        size: even numbers.
        still: whether most frames are like the one before.
    """
    import av

    from_image: Any = av.VideoFrame.from_image
    options = {**_OPTIONS, **(_STILL if still else _MOVING)}
    count = 0
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = 5 * RATE
        last: Image | None = None
        converted: Any = None
        for image in frames:
            if image is not last:
                made = from_image(image)
                converted = made.reformat(size[0], size[1], "yuv420p")
                last = image
            converted.pts = count
            container.mux(stream.encode(converted))
            count += 1
        container.mux(stream.encode(None))
    return count


def check(path: Path, size: tuple[int, int], seconds: float) -> None:
    """Open a film again and decode its beginning, middle and end.

    Raises `JobFailed` when it is damaged, has another size or length, or shows nothing.
    """
    import av

    try:
        with av.open(str(path)) as container:
            stream: Any = container.streams.video[0]
            found = float(stream.duration * stream.time_base) if stream.duration else 0.0
            if (stream.width, stream.height) != tuple(size):
                raise JobFailed(f"The film came out with {stream.width} × {stream.height} pixels.")
            if abs(found - seconds) > _SLACK:
                raise JobFailed(f"The film came out {found:.1f} seconds long.")
            for part in (0.0, 0.5, 0.95):
                container.seek(int(part * found * av.time_base))
                frame: Any = next(container.decode(stream))
                extremes = frame.to_image().convert("L").getextrema()
                if extremes[1] - extremes[0] < 8:
                    raise JobFailed("The film came out with empty pictures.")
    except (av.FFmpegError, StopIteration, IndexError) as error:
        raise JobFailed("The film came out damaged.") from error
