"""A scripted model makes what people ask a model for, end to end; each product is opened again."""

import base64
import io
from pathlib import Path
from typing import Any

import httpx2
import pypdfium2
import pytest
from PIL import Image

from agentpost.agents import JobFailed
from agentpost_offline.frame import Act, Frame, Style, Thing, to_json
from agentpost_offline.making.document import making as documents
from tests.agents.fakes import file
from tests.agents.llm.openai_stub import Calls, OpenAIStub, Says
from tests.agents.llm.test_tools import call, results
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hostile_inputs import MARKDOWN, PAGE, no_scripts
from tests.e2e.server import AgentServer
from tests.forking import MODEL_ALONE
from tests.libraries import docx, openpyxl, pptx
from tests.offline.making import stories

BUDGET = "department,budget\nHR,50000\nIT,100000\nSales,80000\nLegal,20000\n"
ACTUAL = (
    "team,month,spent\nit,2026-01,70000\nIT,2026-02,50000\nHR,2026-01,64000\nSales,2026-02,72000\n"
)
SALES = "day,region,revenue\n" + "".join(
    f"2026-{month:02}-05,{region},{month * factor}\n"
    for month in range(1, 7) for region, factor in (("North", 100), ("South", 150))
)  # fmt: skip


@pytest.fixture(scope="module")
def server(stub: OpenAIStub, start_server: ServerMaker) -> AgentServer:
    return start_server(agent="llm:openai:stub-1", llm_base_url=stub.url, imported=MODEL_ALONE)


@pytest.fixture(scope="module")
def report_pdf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A PDF with a table, as people attach one."""
    text = "# Harbour survey\n\nThe survey ran.\n\n| Berth | Depth |\n|---|---:|\n| A1 | 9.5 |"
    frame = to_json(Frame(Act.MAKE, Thing.DOCUMENT, style=Style(), text=text))
    content: bytes = documents.write([], frame, [], "pdf")
    return content


def attached(name: str, content: str | bytes) -> dict[str, str]:
    data = content.encode() if isinstance(content, str) else content
    return {"name": name, "base64": base64.b64encode(data).decode()}


def make_files(
    caller: Caller, stub: OpenAIStub, text: str, *calls: tuple[str, str],
    files: list[dict[str, str]] | None = None,
) -> dict[str, bytes]:  # fmt: skip
    """The files that come of a message, when the model makes those calls one after the other."""
    stub.tell(*(Calls([one]) for one in calls), Says(["Done."]))
    extra: dict[str, Any] = {"files": files} if files else {}
    done = caller.final(caller.send(text, conversation=text, **extra)["id"])
    assert done["status"] == "completed", done
    assert not [text for text in results(stub) if text.startswith("Not done")], results(stub)
    return {one["name"]: httpx2.get(one["url"]).content for one in done["files"]}


def words_of_word(content: bytes) -> str:
    word = docx.Document(io.BytesIO(content))
    cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
    return "\n".join([*(paragraph.text for paragraph in word.paragraphs), *cells])


def words_of_pdf(content: bytes) -> str:
    with pypdfium2.PdfDocument(content) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def words_of_slides(content: bytes) -> str:
    cells = [cell.text for slide in slides_of(content) for table in slide["tables"]
             for row in table.rows for cell in row.cells]  # fmt: skip
    return "\n".join([*(slide["text"] for slide in slides_of(content)), *cells])


def slides_of(content: bytes) -> list[dict[str, Any]]:
    """Title, layout, texts and kinds of shapes of each slide."""
    return [
        {
            "title": slide.shapes.title.text_frame.text if slide.shapes.title else "",
            "layout": slide.slide_layout.name,
            "text": "\n".join(s.text_frame.text for s in slide.shapes if s.has_text_frame),
            "charts": [s.chart for s in slide.shapes if s.has_chart],
            "tables": [s.table for s in slide.shapes if s.has_table],
        }
        for slide in pptx.Presentation(io.BytesIO(content)).slides
    ]


def test_minutes_are_a_word_file_in_the_model_s_words(caller: Caller, stub: OpenAIStub) -> None:
    markdown = (
        "# Minutes, 3 March\n\nPresent: Ada, Grace.\n\n## Decisions\n\n1. The kiosk opens in May.\n"
        "\n## Tasks\n\n| Who | What | By |\n|---|---|---|\n| Ada | Find a **baker** | 1 April |\n"
    )
    made = make_files(caller, stub, "Write the minutes",
                 call("make_document", markdown=markdown, formats=["docx"]))  # fmt: skip
    (content,) = made.values()
    word = docx.Document(io.BytesIO(content))
    assert [p.text for p in word.paragraphs if p.style and p.style.name.startswith("Heading")] == [
        "Decisions", "Tasks"
    ]  # fmt: skip
    assert [cell.text for cell in word.tables[0].rows[1].cells] == [
        "Ada",
        "Find a baker",
        "1 April",
    ]
    assert "PAGE" in word.sections[0].footer._element.xml


def test_offers_are_compared_with_a_recommendation(caller: Caller, stub: OpenAIStub) -> None:
    prices = {"A": 9, "B": 7, "C": 8}
    offers = [attached(f"{n}.md", f"# Offer {n}\n\nPrice: {p} €") for n, p in prices.items()]
    sections = [
        {"title": "Take offer B", "text": "It is the **cheapest** and delivers first."},
        {"title": "The offers", "table": [["Offer", "Price (€)"], ["A", "9"], ["B", "7"]]},
        {"title": "For and against B", "columns": [
            {"title": "For", "bullets": ["7 €"]},
            {"title": "Against", "bullets": ["New supplier"]}]},
    ]  # fmt: skip
    made = make_files(
        caller, stub, "Compare the offers", call("read_document", name="B.md"),
        call("make_from_sections", product="report", title="B is the better offer",
             sections=sections, formats=["docx", "pdf"]),
        files=offers,
    )  # fmt: skip
    assert "Price: 7 €" in results(stub)[0]
    for name, content in made.items():
        text = words_of_word(content) if name.endswith("docx") else words_of_pdf(content)
        for words in (
            "B is the better offer",
            "Take offer B",
            "cheapest",
            "New supplier",
            "Against",
        ):
            assert words in " ".join(text.split()), (name, words)


def test_a_deck_of_six_slides_from_a_pdf(
    caller: Caller, stub: OpenAIStub, report_pdf: bytes
) -> None:
    sections: list[dict[str, Any]] = [
        {"title": "Berth A1 is too shallow", "text": "A ship of 10 m cannot berth."},
        {"title": "What we measured", "table": [["Berth", "Depth (m)"], ["A1", "9.5"]],
         "notes": "Measured in May."},
        {"title": "What the pilots say", "quote": "We wait for the tide.",
         "quoted_from": "A pilot"},
        {"title": "Two ways out", "columns": [{"title": "Dredge", "bullets": ["2 m deeper"]},
                                              {"title": "Move", "bullets": ["To berth B2"]}]},
        {"title": "When", "timeline": [{"when": "May", "what": "Survey"},
                                       {"when": "July", "what": "Dredging"}]},
    ]  # fmt: skip
    made = make_files(
        caller, stub, "Six slides from this", call("read_document", name="survey.pdf"),
        call("make_from_sections", product="deck", title="The harbour survey", sections=sections),
        files=[attached("survey.pdf", report_pdf)],
    )  # fmt: skip
    assert "| A1 | 9.5 |" in results(stub)[0]
    slides = slides_of(made["the-harbour-survey-deck.pptx"])
    assert [slide["title"] for slide in slides] == [
        "The harbour survey",
        *(section["title"] for section in sections),
    ]
    assert [slide["layout"] for slide in slides] == [
        "Title", "Statement", "Table", "Quote", "Two columns", "Timeline"
    ]  # fmt: skip
    assert "— A pilot" in slides[3]["text"]


def test_a_letter_has_no_title_and_page_numbers(caller: Caller, stub: OpenAIStub) -> None:
    letter = "Dear Ms Lang,\n\nthank you for your offer. We accept it.\n\nYours sincerely,\\\nAda"
    made = make_files(caller, stub, "Write a letter",
                 call("make_document", markdown=letter, formats=["pdf"], title=None))  # fmt: skip
    (content,) = made.values()
    text = words_of_pdf(content)
    assert text.index("Dear Ms Lang") < text.index("We accept it") < text.index("Ada")
    assert "1 / 1" in text


def test_budget_against_actual_over_two_tables(caller: Caller, stub: OpenAIStub) -> None:
    query = {
        "by": ["department"],
        "measures": [
            {"table": "budget.csv", "column": "budget", "name": "Budget"},
            {"table": "actual.csv", "column": "spent", "name": "Actual", "by": ["team"]},
        ],
        "calculations": [
            {"name": "Over", "operation": "difference", "first": "Actual", "second": "Budget"},
            {"name": "Over in %", "operation": "change", "first": "Actual", "second": "Budget"},
        ],
        "sort_by": "Over in %",
    }
    files = ["budget.csv", "actual.csv"]
    made = make_files(
        caller, stub, "Budget against actual", call("ask_tables", files=files, query=query),
        call("make_from_sections", product="deck", title="IT is 20 % over budget", files=files,
             sections=[{"title": "HR is over most", "query": query, "show": "table"}]),
        files=[attached("budget.csv", BUDGET), attached("actual.csv", ACTUAL)],
    )  # fmt: skip
    answer = results(stub)[0]
    assert answer.splitlines()[2:6] == [
        "| HR | 50,000 | 64,000 | 14,000 | 28% |", "| IT | 100,000 | 120,000 | 20,000 | 20% |",
        "| Sales | 80,000 | 72,000 | −8,000 | −10% |", "| Legal | 20,000 | – | – | – |",
    ]  # fmt: skip
    assert "Actual has no value for Legal" in answer
    slides = slides_of(made["it-is-20-over-budget-deck.pptx"])
    assert [slide["title"] for slide in slides] == ["IT is 20 % over budget", "HR is over most"]
    assert [cell.text for cell in slides[1]["tables"][0].rows[2].cells][:3] == [
        "IT", "100,000", "120,000"
    ]  # fmt: skip


def test_a_brief_is_a_document_with_its_picture(caller: Caller, stub: OpenAIStub) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (400, 200), "teal").save(buffer, "PNG")
    brief = "# Brief\n\n- Who: bakers\n\n![The kiosk](kiosk.png)\n\n> Fresh at six.\n"
    made = make_files(
        caller, stub, "A brief", call("make_document", markdown=brief, files=["kiosk.png"],
                                      formats=["docx", "html"]),
        files=[attached("kiosk.png", buffer.getvalue())],
    )  # fmt: skip
    assert len(docx.Document(io.BytesIO(made["brief.docx"])).inline_shapes) == 1
    page = made["brief.html"].decode()
    assert page.count("<img ") == 1
    assert "<blockquote>Fresh at six.</blockquote>" in page


def test_a_timeline_of_many_moments_stands_on_one_slide(caller: Caller, stub: OpenAIStub) -> None:
    moments = [
        {"when": f"{year}", "what": f"Shop number {year - 2017} opens"}
        for year in range(2018, 2026)
    ]
    made = make_files(caller, stub, "A timeline", call(
        "make_document", markdown="# a"), call(
        "make_from_sections", product="deck", title="Our shops",
        sections=[{"title": "Eight years", "timeline": moments}],
    ))  # fmt: skip
    slides = slides_of(made["our-shops-deck.pptx"])
    assert [slide["layout"] for slide in slides] == ["Title", "Timeline"]
    assert all(moment["what"] in slides[1]["text"] for moment in moments)


def test_a_report_with_two_charts(caller: Caller, stub: OpenAIStub) -> None:
    measure = {"table": "sales.csv", "column": "revenue", "name": "Revenue"}
    sections = [
        {
            "title": "It grows",
            "text": "Every month is better.",
            "query": {"measures": [measure], "time": "day", "grain": "month"},
            "chart": "line",
        },
        {"title": "The South is ahead", "query": {"measures": [measure], "by": ["region"]}},
    ]
    made = make_files(
        caller, stub, "A report with charts",
        call("make_from_sections", product="report", title="Half a year", sections=sections,
             files=["sales.csv"], formats=["docx", "pdf"], colour="#aa2211"),
        files=[attached("sales.csv", SALES)],
    )  # fmt: skip
    word = docx.Document(io.BytesIO(made["half-a-year-report.docx"]))
    assert len(word.inline_shapes) == 2
    text = words_of_pdf(made["half-a-year-report.pdf"])
    assert text.index("It grows") < text.index("The South is ahead") < text.index("3,150")


def test_a_page_with_sections(caller: Caller, stub: OpenAIStub) -> None:
    sections = [
        {"title": title, "text": f"About <b>{title}</b> & more.", "bullets": ["One", "Two"]}
        for title in ("Shop", "Prices", "Contact")
    ]
    made = make_files(caller, stub, "A page", call("make_document", markdown="# x"), call(
        "make_from_sections", product="page", title="The bakery", sections=sections))  # fmt: skip
    page = made["the-bakery-page.html"].decode()
    assert page.count("<h2") == 3
    assert page.count('<a href="#s') == 3
    assert "&amp; more." in page
    assert "<script" not in page


def test_a_film_of_sections(caller: Caller, stub: OpenAIStub) -> None:
    sections = [{"title": "We open", "text": "In May.", "notes": "The kiosk opens in May."}]
    made = make_files(caller, stub, "A film", call("make_document", markdown="# x"), call(
        "make_from_sections", product="film", title="Kiosk", sections=sections,
        seconds=4))  # fmt: skip
    assert made["kiosk-video.mp4"][4:8] == b"ftyp"


def test_a_picture_is_cropped_and_lettered(caller: Caller, stub: OpenAIStub) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (800, 400), "white").save(buffer, "PNG")
    made = make_files(
        caller, stub, "Crop it", call(
            "edit_pictures", files=["wall.png"], format="jpg",
            edit={"width": 300, "height": 300, "text": "Summer sale"}),
        files=[attached("wall.png", buffer.getvalue())],
    )  # fmt: skip
    image = Image.open(io.BytesIO(made["wall-300x300.jpg"])).convert("RGB")
    assert image.size == (300, 300)
    assert min(image.getpixel((10, 10))) > 240  # type: ignore[arg-type]
    assert max(image.getpixel((10, 295))) < 120  # type: ignore[arg-type]


def test_a_spreadsheet_with_a_ratio_column(caller: Caller, stub: OpenAIStub) -> None:
    query = {
        "by": ["team"],
        "measures": [
            {"table": "actual.csv", "column": "spent", "name": "Spent"},
            {"table": "actual.csv", "column": None, "name": "Bookings"},
        ],
        "calculations": [
            {"name": "Each", "operation": "ratio", "first": "Spent", "second": "Bookings"}
        ],
    }
    made = make_files(
        caller, stub, "A workbook",
        call("make_table", files=["actual.csv"], title="Spending",
             sheets=[{"title": "By team", "query": query}]),
        files=[attached("actual.csv", ACTUAL)],
    )  # fmt: skip
    book = openpyxl.load_workbook(io.BytesIO(made["spending-table.xlsx"]))
    rows = [[cell.value for cell in row] for row in book["By team"].iter_rows()]
    assert rows[0][1:] == ["Spent", "Bookings", "Each"]
    assert sorted(row[1:] for row in rows[1:4]) == [
        [64_000, 1, 64_000], [72_000, 1, 72_000], [120_000, 2, 60_000]
    ]  # fmt: skip


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ask_tables", {"query": {"measures": [{"table": "x.csv"}]}}, "the tables are: actual.csv"),
    ("ask_tables", {"query": {"measures": [{"table": "actual.csv", "column": "cost"}]}},
     "it has month, spent, team"),
    ("ask_tables", {"query": {
        "measures": [{"table": "actual.csv", "name": "n"}], "sort_by": "m"}},
     "There is no column 'm' to sort by: n"),
    ("make_chart", {"title": "t", "query": {"measures": [{"table": "actual.csv"}]}},
     "a chart needs groups or a time axis"),
    ("make_chart", {"title": "t", "colour": "red", "query": {
        "by": ["team"], "measures": [{"table": "actual.csv"}]}}, "a colour is #rrggbb"),
    ("make_from_sections", {"product": "deck", "title": "t", "sections": []}, "at least one"),
    ("make_document", {"formats": ["odt"], "markdown": "a"}, "pdf, docx, html, pptx, not odt"),
    ("make_from_sections", {"product": "deck", "title": "t", "sections": [
        {"title": "t", "picture": "no.png"}]}, "There is no file no.png"),
]  # fmt: skip


def test_a_refusal_says_what_to_change(caller: Caller, stub: OpenAIStub) -> None:
    calls = [
        call(tool, **({} if tool == "make_document" else {"files": ["actual.csv"]}), **arguments)
        for tool, arguments, _ in REFUSED
    ]
    stub.tell(Calls(calls), Says(["I see."]))
    sent = caller.send("Try", conversation="refused", files=[attached("actual.csv", ACTUAL)])
    done = caller.final(sent["id"])
    assert (done["status"], done["files"]) == ("completed", [])
    for said, (_, _, words) in zip(results(stub), REFUSED, strict=True):
        assert words in said


WORDS = "Plan Menu entry One bold word A B Year Cost first second 2026 40 50"


def test_every_word_of_a_conversion_is_in_every_format(tmp_path: Path) -> None:
    """Nothing is left out, and what cannot be carried over is named."""
    source = tmp_path / "plan.html"
    source.write_text(
        "<title>Plan</title><nav>Menu entry</nav><h1>Plan</h1><p>One <b>bold</b> word.</p><ul><li>A"
        "<ul><li>B</li></ul></li></ul><table><tr><th rowspan=2>Year</th><th colspan=2>Cost"
        "</th></tr><tr><td>first</td><td>second</td></tr><tr><td>2026</td><td>40</td><td>50</td></tr></table>"
        "<input><iframe src=x></iframe><img src=http://example.com/a.png alt=Map>"
    )  # fmt: skip
    files = stories.local([file(source)])
    frame = to_json(Frame(Act.MAKE, Thing.DOCUMENT))
    about = documents.plan(files, frame, [], 1)
    assert [note.partition(": ")[2] for note in about["notes"]] == [
        "form fields", "embedded pages", "the picture “Map”, which is not in the file"
    ]  # fmt: skip
    content = {form: documents.write(files, frame, [], form)
               for form in ("pdf", "docx", "html", "pptx")}  # fmt: skip
    for text in (
        words_of_pdf(content["pdf"]), words_of_word(content["docx"]), content["html"].decode(),
        words_of_slides(content["pptx"]),
    ):  # fmt: skip
        absent = [each for each in WORDS.split() if each not in text]
        assert not absent


def test_a_format_without_a_word_of_its_paper_is_not_handed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = to_json(Frame(Act.MAKE, Thing.DOCUMENT, text="# Plan\n\nSome words."))
    empty = documents.write([], {**frame, "text": "# Plan"}, [], "docx")
    word = "agentpost_offline.making.document.word"
    monkeypatch.setattr(f"{word}.build", lambda *_: empty)
    with pytest.raises(JobFailed, match="without some words"):
        documents.write([], frame, [], "docx")


@pytest.mark.parametrize(("name", "content"), [("p.html", PAGE), ("p.md", MARKDOWN)])
def test_a_converted_page_runs_and_loads_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    files = stories.local([file(tmp_path / name)])
    frame = to_json(Frame(Act.MAKE, Thing.DOCUMENT))
    page = documents.write(files, frame, [], "html")
    no_scripts({"p.html": page})
    assert b"The budget is 40 euros." in page
