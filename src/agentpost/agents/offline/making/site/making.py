"""The steps of a site: read and build, write, open again and check; a picture to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost.agents.deaths import WorkerDied
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.frame import Frame, from_json, to_json
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.making.site import building, checking, preview, rendering
from agentpost.agents.offline.style import languages

SECONDS = 180.0
CREDITS = 3.0


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the site; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    asked = to_json(frame)
    single = is_single(frame)
    await job.progress("Reading the files")
    plan = await job.step(planned, files, asked, single, timeout=SECONDS)
    await job.progress(f"Pages: {', '.join(plan['pages'])[:120]}")
    stem = file_name(frame.style.title or plan["title"], "site", inputs.version, "x")[:-2]
    name = f"{stem}.html" if single else f"{stem}.zip"
    await job.progress(f"Writing {name}")
    site = await job.write(
        name, write, files, asked, stem, single, cost=CREDITS, label=plan["title"], timeout=SECONDS
    )
    await job.progress(f"Checking {name}")
    pages = await job.step(check, site, len(plan["pages"]), single, timeout=SECONDS)
    texts = languages.words(building.TEXTS, frame.language)
    remarks = list(plan["remarks"])
    made = [site]
    try:
        made.append(
            await job.write(
                f"{stem}-preview.png", preview.write, plan["outline"], plan["pages"],
                label=texts["preview"], timeout=SECONDS,
            )
        )  # fmt: skip
    except (WorkerDied, TimeoutError):
        # The site is there and paid for.
        remarks.append(texts["no_preview"])
    text = texts["single" if single else "made"].format(
        title=plan["title"], name=name, pages=pages, open=f"{stem}/index.html"
    )
    finding = plan["outline"].get("finding", "")
    return Made(f"{text} {finding}".rstrip(), made, plan["used"], plan["skipped"], remarks)


def is_single(frame: Frame) -> bool:
    """Whether everything goes into one file: asked for as HTML, or as one page."""
    asked_zip = "zip" in frame.formats
    return not asked_zip and (
        "html" in frame.formats or frame.style.pages == 1 or bool(frame.style.options.get("single"))
    )


@unpacking
def planned(files: Sequence[File], frame: dict[str, Any], single: bool) -> dict[str, Any]:
    """A step: what the site will hold."""
    site = building.built(files, from_json(frame), single=single)
    outline = site.outline
    return {
        "title": outline.title,
        "pages": [one.title for one in site.fragments],
        "outline": msgspec.to_builtins(outline),
        "used": list(outline.used),
        "skipped": site.skipped,
        "remarks": list(outline.remarks),
    }


@unpacking
def write(files: Sequence[File], frame: dict[str, Any], stem: str, single: bool) -> bytes:
    """A step: the site's bytes."""
    site = building.built(files, from_json(frame), single=single)
    content = (
        rendering.one_file(site.fragments, site.look) if single else building.zipped(site, stem)
    )
    if len(content) > building.MOST_BYTES:
        raise JobFailed(
            f"The site would be larger than {building.MOST_BYTES // 2**20} MB; "
            "attach fewer files or a part of the table."
        )
    return content


def check(file: File, pages: int, single: bool) -> int:
    """A step: open the site again; returns the number of pages."""
    content = file.local.read_bytes()
    return checking.check_single(content) if single else checking.check_zip(content, pages)
