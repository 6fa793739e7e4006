"""The steps of a site: read and build, write, open again and check; a picture to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    texts = languages.words(building.TEXTS, frame.language)
    single = is_single(frame)
    source = frame.style.title or (files[0].name if files else "")
    thing = "site" if source else ""
    stem = file_name(source or "site", thing, inputs.version, "x")[:-2]
    name = f"{stem}.html" if single else f"{stem}.zip"
    await job.progress(f"Writing {name}")
    site = await job.write(
        name, write, files, to_json(frame), stem, single, cost=CREDITS, label=frame.style.title,
        timeout=SECONDS,
    )  # fmt: skip
    await job.progress(f"Checking {name}")
    about = await job.step(check, site, single, timeout=SECONDS)
    outline = about["outline"]
    remarks = list(outline.get("remarks", []))
    made = [site]
    try:
        made.append(
            await job.write(
                f"{stem}-preview.png", preview.write, outline, about["pages"],
                label=texts["preview"], timeout=SECONDS,
            )
        )  # fmt: skip
    except (WorkerDied, TimeoutError):
        # The site is there and paid for.
        remarks.append(texts["no_preview"])
    text = texts["single" if single else "made"].format(
        title=about["title"], name=name, pages=len(about["pages"]), open=f"{stem}/index.html"
    )
    return Made(
        f"{text} {outline.get('finding', '')}".rstrip(), made, outline.get("used", []),
        about["skipped"], remarks,
    )  # fmt: skip


def is_single(frame: Frame) -> bool:
    """Whether everything goes into one file: asked for as HTML, or as one page."""
    asked_zip = "zip" in frame.formats
    return not asked_zip and (
        "html" in frame.formats or frame.style.pages == 1 or bool(frame.style.options.get("single"))
    )


@unpacking
def write(files: Sequence[File], frame: dict[str, Any], stem: str, single: bool) -> bytes:
    """A step: the site's bytes, with what it holds inside."""
    site = building.built(files, from_json(frame), single=single)
    if single:
        content = building.with_about(rendering.one_file(site.fragments, site.look), site)
    else:
        content = building.zipped(site, stem)
    if len(content) > building.MOST_BYTES:
        raise JobFailed(
            f"The site would be larger than {building.MOST_BYTES // 2**20} MB; "
            "attach fewer files or a part of the table."
        )
    return content


def check(file: File, single: bool) -> dict[str, Any]:
    """A step: open the site again; returns what it holds, raises `JobFailed`."""
    content = file.local.read_bytes()
    about = checking.about(content, single=single)
    if single:
        checking.check_single(content)
    else:
        checking.check_zip(content, len(about["pages"]))
    return about
