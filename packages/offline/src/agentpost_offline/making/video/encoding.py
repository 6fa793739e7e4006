"""Frames into an mp4 file, one at a time. Who writes a film imports this with its library."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
from PIL.Image import Image

from agentpost.agents.base import JobFailed
from agentpost_offline.making.video.film import RATE

_OPTIONS = {"crf": "21", "preset": "veryfast", "threads": "2"}
_STILL = {"tune": "stillimage", "rc-lookahead": "15"}
_MOVING = {"x264-params": "mbtree=0:rc-lookahead=5:subme=1:ref=1"}
"""Half the work for pictures that all differ a little; the files are larger."""
THREADS = 1
"""For changing the form of a picture. PyAV 19 keeps more than one as long as the thread lives that
asked for it: a process that uvloop starts in another thread hangs then, and its server with it."""
_SLACK = 0.6


def encode(frames: Iterator[Image], path: Path, size: tuple[int, int], *, still: bool) -> None:
    """Write the frames as H.264, playable while it loads; the same object again means the same
    picture. ``size`` is of even numbers; ``still``: most frames are like the one before."""
    from_image: Any = av.VideoFrame.from_image
    options = {**_OPTIONS, **(_STILL if still else _MOVING)}
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = 5 * RATE
        last: Image | None = None
        for number, image in enumerate(frames):
            if image is not last:
                frame: Any = from_image(image).reformat(*size, "yuv420p", threads=THREADS)
                last = image
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def check(path: Path, size: tuple[int, int], seconds: float) -> None:
    """Open a film again and decode its beginning, middle and end. Raises `JobFailed` when it is
    damaged, has another size or length, or shows nothing."""
    try:
        with av.open(str(path)) as container:
            stream: Any = container.streams.video[0]
            length = float(stream.duration * stream.time_base) if stream.duration else 0.0
            if (stream.width, stream.height) != tuple(size):
                raise JobFailed(f"The film came out with {stream.width} × {stream.height} pixels.")
            if abs(length - seconds) > _SLACK:
                raise JobFailed(f"The film came out {length:.1f} seconds long.")
            for part in (0.0, 0.5, 0.95):
                container.seek(int(part * length * av.time_base))
                frame: Any = next(container.decode(stream))
                darkest, lightest = frame.to_image(threads=THREADS).convert("L").getextrema()
                if lightest - darkest < 8:
                    raise JobFailed("The film came out with empty pictures.")
    except (av.FFmpegError, StopIteration, IndexError) as error:
        raise JobFailed("The film came out damaged.") from error
