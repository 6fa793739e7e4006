"""Archives: what is inside is worked on as if it had been attached file by file."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from agentpost.agents import File
from agentpost_offline.data.archives import inside, unpack, unpacking
from agentpost_offline.making import run
from tests.agents.fakes import FakeJob, file
from tests.offline.conversations import Conversation

TABLE = b"month,revenue\n2025-01,10\n2025-02,30\n"
NOTES = b"# Plan\n\nThe launch is on 3 March. The vans cost 900 euros a week.\n"


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
    return buffer.getvalue()


def archive(folder: Path, members: dict[str, bytes]) -> File:
    path = folder / "all.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return replace(file(path, "application/zip"), kind="archive", local_path=path)


MIXED = {
    "data/sales.csv": TABLE, "plan.md": NOTES, "img/shop.png": picture(), "empty/": b"",
    "__MACOSX/plan.md": b"junk", ".hidden": b"junk",
}  # fmt: skip


def names(files: Sequence[File]) -> list[str]:
    return [one.name for one in files]


def test_the_members_stand_in_place_of_the_archive(tmp_path: Path) -> None:
    whole = archive(tmp_path, MIXED)
    assert unpacking(names)([whole]) == ["sales.csv", "plan.md", "shop.png"]
    assert inside(whole) == ["data", "document", "image"]


@pytest.mark.parametrize("name", ["sales.csv", "book.docx"])
def test_other_files_stay(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TABLE)
    other = replace(file(path), local_path=path)
    assert unpacking(names)([other]) == [name]
    assert inside(other) == []


def test_an_archive_stays_beside_its_members_when_something_is_left_out(tmp_path: Path) -> None:
    """Its reader then says that not all of it was read."""
    whole = archive(tmp_path, {"plan.md": NOTES, "tool.exe": b"MZ", "huge.csv": bytes(70 * 2**20)})
    assert unpacking(names)([whole]) == ["plan.md", "all.zip"]


async def test_the_tables_of_an_archive_are_read_once(tmp_path: Path) -> None:
    """Also where something of it is left out, so that the archive stays beside its members."""
    whole = archive(tmp_path, {"sales.csv": TABLE, "tool.exe": b"MZ"})
    [job] = (await Conversation().say("Write a report", whole)).started
    result = await run.make(FakeJob(tmp_path), **job.args)
    assert "Used: sales.csv (2 rows).\nNot used: tool.exe" in result


def test_a_damaged_member_takes_no_other_with_it(tmp_path: Path) -> None:
    whole = archive(tmp_path, {"plan.md": NOTES, "sales": TABLE, "bad.csv": TABLE})
    data = bytearray(whole.local.read_bytes())
    data[data.rindex(b"bad.csv", 0, data.index(b"PK\x01\x02")) + len("bad.csv") + 1] ^= 0xFF
    whole.local.write_bytes(data)
    (tmp_path / "members").mkdir()
    members, omissions = unpack(whole, tmp_path / "members")
    assert [one.name for one in members] == ["plan.md", "sales"]
    assert omissions == ["bad.csv is damaged"]
    # A name that tells no kind does not make an archive of documents one of tables.
    assert inside(archive(tmp_path, {"plan.md": NOTES, "LICENSE": NOTES})) == ["document"]


def test_members_are_never_written_elsewhere(tmp_path: Path) -> None:
    def folders(files: Sequence[File]) -> set[Path]:
        return {one.local.parent for one in files}

    whole = archive(tmp_path, {"../../evil.csv": TABLE, "/etc/evil.csv": TABLE})
    [folder] = unpacking(folders)([whole])
    assert folder.name.startswith("members-")
    assert not folder.exists()


async def test_a_question_is_answered_from_a_document_inside(tmp_path: Path) -> None:
    turn = await Conversation().say("When is the launch?", archive(tmp_path, MIXED))
    assert "3 March" in turn.text
    assert "plan.md" in turn.text


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("Build a website", ("sales.csv (2 rows)",)),
        ("crop it square", ("shop.png (40 × 30)",)),
        ("Make a deck", ("sales.csv (2 rows)",)),
    ],
)
async def test_things_are_made_of_what_is_inside(
    tmp_path: Path, text: str, used: tuple[str, ...]
) -> None:
    [job] = (await Conversation().say(text, archive(tmp_path, MIXED))).started
    result = await run.make(FakeJob(tmp_path), **job.args)
    said = result.partition("Used: ")[2].partition("\n")[0]
    for one in used:
        assert one in said
