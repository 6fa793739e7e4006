"""Documents as blocks with places, and questions about them."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import Unreadable
from agentpost_offline.content.blocks import BlockKind
from agentpost_offline.documents.answers import answer, cut
from agentpost_offline.documents.reading import read
from agentpost_offline.documents.sources import Document
from tests.offline.data.given import file

PRINTED = """
#set page(paper: "a5", header: [Northwind annual report],
  footer: context [Page #counter(page).display() of 3])
#set par(justify: true)
#set text(hyphenate: true, lang: "en")
= Northwind in 2025
The company was founded in 1998 by Maria Lopez and has 120 employees in four offices. #filler
== Costs
Rent rose by 5% to €1.2 million in May. Energy costs fell to €340,000 because the contract with
Voltas was renegotiated. #filler
== Risks
The main risk is the dependence on one supplier. The contract with Voltas ends on 31 March 2027.
#filler #filler #filler
"""
FILLER = (
    "Customers ordered bicycles for children and grown people in all of the regions and paid for "
    "them in advance. " * 12
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import typst

    folder = tmp_path_factory.mktemp("printed")
    source = folder / "a.typ"
    source.write_text(f"#let filler = [{FILLER}]\n{PRINTED}")
    made = tmp_path_factory.mktemp("files")
    return file(made, "report.pdf", typst.compile(str(source)))


def texts(document: Document, kind: BlockKind) -> list[str]:
    return [block.text for block in document.blocks if block.kind is kind]


def test_a_pdf_has_headings_and_whole_sentences(report: Any) -> None:
    found = read(report)
    assert found.title == "Northwind in 2025"
    assert texts(found, BlockKind.HEADING) == ["Northwind in 2025", "Costs", "Risks"]
    assert [b.level for b in found.blocks if b.kind is BlockKind.HEADING] == [1, 2, 2]
    whole = " ".join(block.text for block in found.blocks)
    assert "annual report" not in whole
    assert "Page 1" not in whole
    assert whole.count(" ".join(FILLER.split())) >= 3
    costs = next(block for block in found.blocks if "Rent rose" in block.text)
    assert costs.place.endswith(", Costs")
    assert costs.text.startswith("Rent rose by 5% to €1.2 million in May.")


PAGE = """<!DOCTYPE html><html><head><title>Prices | Shop</title></head><body>
<nav><a href="/">Home</a></nav><div class="cookie-banner">We use cookies</div><!-- secret -->
<main><h1>Prices</h1><p>Chairs cost <b>€20</b> from 1 May 2025.</p>
<table><tr><th rowspan="2">Item</th><th colspan="2">Price</th></tr><tr><th>old</th><th>new</th></tr>
<tr><td>Chair</td><td>18</td><td>20</td></tr></table><ul><li>Free delivery</li></ul>
<script>alert("x")</script></main><footer>Imprint</footer></body></html>"""


def test_a_page_has_its_main_content(tmp_path: Path) -> None:
    found = read(file(tmp_path, "whatever.txt", PAGE))
    assert [(str(block.kind), block.text) for block in found.blocks] == [
        ("heading", "Prices"),
        ("paragraph", "Chairs cost €20 from 1 May 2025."),
        ("table", ""),
        ("item", "Free delivery"),
    ]
    assert found.blocks[2].rows[2] == ["Chair", "18", "20"]
    assert found.blocks[1].place == "Prices"


def test_markdown_without_its_comments(tmp_path: Path) -> None:
    text = "---\na: b\n---\n# Title\n\n<!-- not\nthis -->\nSome *text*.\n\n"
    text += "| a | b |\n|---|---|\n| x | 1 |\n"
    found = read(file(tmp_path, "a.md", text))
    assert texts(found, BlockKind.PARAGRAPH) == ["Some text."]
    assert found.blocks[-1].rows == [["a", "b"], ["x", "1"]]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# Head\ntext\n## Two\nmore", [("Head", 1), ("Two", 2)]),
        ("PLAN\n\nWe open.\n\n2.1 Costs\n\nLow.", [("PLAN", 1), ("2.1 Costs", 1)]),
        ("Title\n=====\n\nCOSTS\n\nLow.", [("Title", 1), ("COSTS", 2)]),
        ("Dear all,\nwe open in May.\n- Low costs", []),
    ],
)
def test_headings_of_a_text_without_a_format(
    tmp_path: Path, text: str, headings: list[tuple[str, int]]
) -> None:
    blocks = read(file(tmp_path, "a.txt", text)).blocks
    assert [(one.text, one.level) for one in blocks if one.kind is BlockKind.HEADING] == headings


def test_word_and_powerpoint(tmp_path: Path) -> None:
    import docx
    from pptx import Presentation

    document = docx.Document()
    document.add_heading("Costs", 1)
    document.add_paragraph("Rent rose.")
    out = io.BytesIO()
    document.save(out)
    found = read(file(tmp_path, "a.docx", out.getvalue()))
    assert [(b.text, b.place) for b in found.blocks] == [
        ("Costs", "Costs"),
        ("Rent rose.", "Costs"),
    ]
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Growth"
    slide.placeholders[1].text = "Sales grew"
    out = io.BytesIO()
    deck.save(out)
    found = read(file(tmp_path, "renamed.docx", out.getvalue()))
    assert [(str(b.kind), b.text, b.place) for b in found.blocks] == [
        ("heading", "Growth", "slide 1"), ("paragraph", "Sales grew", "slide 1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 40, "not a text file"),
        (b"%PDF-1.7\nnothing", "damaged"),
        (b"PK\x03\x04nothing", "damaged"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "old Office file"),
        (b"   \n \n", "no text"),
    ],
)
def test_a_document_that_cannot_be_read_is_refused_with_a_reason(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(file(tmp_path, "a.txt", data))


def test_sentences_end_where_they_end() -> None:
    text = "It cost approx. 5 m. of rope, e.g. in Rome. Dr. Lee paid. „Gut.“ Was it 3.5? Yes!"
    assert cut(text) == [
        "It cost approx. 5 m. of rope, e.g. in Rome.", "Dr. Lee paid.", "„Gut.“",
        "Was it 3.5?", "Yes!",
    ]  # fmt: skip
    assert cut("价格上涨。天气很好！", "zh") == ["价格上涨。", "天气很好！"]


QUESTIONS = [
    ("When does the contract with Voltas end?", "31 March 2027"),
    ("when dose the contract with voltas end", "31 March 2027"),
    ("How many employees does the company have?", "120 employees"),
    ("Who founded the company?", "Maria Lopez"),
    ("How much did rent rise?", "by 5%"),
    ("What is the main risk?", "one supplier"),
    ("why did energy costs fall?", "renegotiated"),
    ("Does the contract with Acme end?", "contract with Voltas"),
]


@pytest.mark.parametrize(("question", "part"), QUESTIONS)
def test_a_question_is_shown_the_closest_passages(report: Any, question: str, part: str) -> None:
    result = answer([report], question)
    assert result["outcome"] == "passages"
    first = result["text"].split("\n")[0]
    assert part in first
    assert re.search(r"” — report\.pdf, page \d, \w+", first)


def test_a_sentence_stands_in_its_paragraph(tmp_path: Path) -> None:
    path = tmp_path / "terms.md"
    path.write_text(
        "# Terms\n\nA deposit of £120 is payable. It is returned within 14 days.\n\n"
        "No dogs. Candles are not permitted.\n\n| what | fee |\n|---|---|\n| hall | 24 |\n"
    )
    terms = file(tmp_path, "terms.md", path.read_bytes())
    text = answer([terms], "when is the deposit back")["text"]
    assert (
        text == "“A deposit of £120 is payable. It is returned within 14 days.” — terms.md, Terms"
    )
    assert answer([terms], "hall fee")["text"].startswith("“what: hall · fee: 24”")


def test_words_that_stand_nowhere_are_named(report: Any) -> None:
    result = answer([report], "Does the contract with Voltas say anything about unicorns?")
    assert result["outcome"] == "passages"
    assert list(result["missing"]) == ["unicorns"]


@pytest.mark.parametrize("question", ["Who is the CEO?", "What is the capital of France?"])
def test_no_passage_where_no_word_of_the_question_stands(report: Any, question: str) -> None:
    result = answer([report], question)
    assert result["outcome"] == "absent"
    assert "text" not in result
    assert list(result["used"]) == ["report.pdf"]


@pytest.mark.parametrize(
    ("language", "text", "question", "part"),
    [
        ("de", "# Kosten\n\nDer Vertrag mit Voltas endet am 31. März 2027.",
         "Wann endet der Vertrag mit Voltas?", "31. März 2027"),
        ("de", "Die Firma hat 120 Mitarbeiter in vier Büros. Die Büros sind neu.",
         "Wie viele Mitarbeiter hat die Firma?", "120"),
        ("es", "El contrato con Voltas termina el 31 de marzo de 2027. La renta subió.",
         "¿Cuándo termina el contrato con Voltas?", "31 de marzo"),
        ("fr", "Le contrat avec Voltas se termine le 31 mars 2027. Le loyer a augmenté.",
         "Quand se termine le contrat avec Voltas ?", "31 mars"),
        ("zh", "公司有120名员工。与沃达斯的合同于2027年3月31日到期。",
         "合同什么时候到期？", "2027年"),
        ("ar", "لدى الشركة 120 موظفا. ينتهي العقد مع فولتاس في 31 مارس 2027.",
         "متى ينتهي العقد مع فولتاس؟", "31 مارس"),
    ],
)  # fmt: skip
def test_questions_in_other_languages(
    tmp_path: Path, language: str, text: str, question: str, part: str
) -> None:
    result = answer([file(tmp_path, "a.md", text)], question, language)
    assert part in result["text"].split("\n")[0]
