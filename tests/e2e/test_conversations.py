"""People's conversations with the built-in agent over real HTTP: in each language a message with a
file, what is made of it, and a question; in some of them a change.

What is made of files is in test_built_in_agent.py.
"""

from __future__ import annotations

import base64
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.server import AgentServer
from tests.waiting import eventually

SECONDS = 90.0
ROWS = [("month", "region", "channel", "revenue")] + [
    (f"2025-{month:02}", region, channel, 100 * month + (50 if region == "North" else 0))
    for month in range(1, 7)
    for region in ("North", "South")
    for channel in ("Online", "Retail")
]
TOTAL = sum(int(row[3]) for row in ROWS[1:])
NORTH = sum(int(row[3]) for row in ROWS[1:] if row[1] == "North")


def csv(delimiter: str = ",", names: tuple[str, ...] = ()) -> bytes:
    rows = [names or ROWS[0], *ROWS[1:]]
    return "\n".join(delimiter.join(map(str, row)) for row in rows).encode()


@pytest.fixture(scope="module")
def server(offline_server: AgentServer) -> AgentServer:
    return offline_server


def say(caller: Caller, conversation: str, message: str, **files: bytes) -> Json:
    """Send a message; when it is final: the message, with the texts of its works in ``said``."""
    given = [
        {"name": name.replace("_", "."), "base64": base64.b64encode(data).decode()}
        for name, data in files.items()
    ]
    body = {"files": given} if given else {}
    sent = caller.send(message, conversation=conversation, **body)
    done = caller.final(sent["id"], SECONDS)
    works = [caller.work(job["work_id"])["text"] for job in done["jobs"]]
    return {**done, "said": "\n".join(filter(None, [done.get("reply"), done["question"], *works]))}


TALKS = {
    "en": (
        ("Chart revenue by month", ("Chart of sales.csv", "Used: sales.csv (24 rows)")),
        ("split it by region", ("North", "sales-chart-2")),
        ("What was the revenue in the North?", (f"{NORTH:,}",)),
        ("I need it as a PDF too", ("sales-chart-3.pdf",)),
        ("make it green and only 2025-03 to 2025-06", ("sales-chart-4",)),
        ("Excel file with all rows where region is North", ("sales.csv, Region = North",)),
    ),
    "de": (
        (
            "Erstelle ein Balkendiagramm vom Umsatz nach Region",
            ("Bin dabei", "Verwendet: sales.csv (24 Zeilen)"),
        ),
        ("nach Kanal aufgeteilt", ("sales-chart-2",)),
        ("Wie hoch war der Umsatz insgesamt?", (f"gesamt: {TOTAL}.",)),
    ),
    "es": (
        ("Haz un gráfico de los ingresos por mes", ("En marcha", "Usado: sales.csv (24 filas)")),
        ("¿Cuáles fueron los ingresos totales?", (f"total: {TOTAL}.",)),
    ),
    "fr": (
        (
            "Fais un graphique du chiffre d’affaires par mois",
            ("C’est parti", "Utilisé\xa0: sales.csv (24 lignes)"),
        ),
        ("Quel est le chiffre d’affaires total ?", (f"{TOTAL:,}".replace(",", "\u202f"),)),
    ),
    "zh": (
        ("按月份画一个收入图表", ("开始", "使用：sales.csv (24行)。")),
        ("总收入是多少？", (f"{TOTAL:,}",)),
    ),
    "ar": (
        ("ارسم مخططًا للإيرادات حسب الشهر", ("بدأت", "المستخدم: sales.csv")),
        ("قسّمه حسب المنطقة", ("sales-chart-2",)),
        ("ما إجمالي الإيرادات؟", (f"{TOTAL:,}",)),
    ),
}  # fmt: skip
NAMES = {
    "de": ("Monat", "Region", "Kanal", "Umsatz"),
    "es": ("mes", "región", "canal", "ingresos"),
    "fr": ("mois", "région", "canal", "chiffre d’affaires"),
    "zh": ("月份", "地区", "渠道", "收入"),
    "ar": ("الشهر", "المنطقة", "القناة", "الإيرادات"),
}


@pytest.fixture(scope="module")
def talks(caller: Caller) -> dict[str, Future[list[Json]]]:
    """All conversations, held at the same time."""

    def hold(language: str) -> list[Json]:
        first = {"sales_csv": csv(names=NAMES.get(language, ()))}
        return [
            say(caller, language, message, **(first if not number else {}))
            for number, (message, _) in enumerate(TALKS[language])
        ]

    with ThreadPoolExecutor(3) as people:
        return {language: people.submit(hold, language) for language in TALKS}


@pytest.mark.parametrize("language", TALKS)
def test_a_conversation(talks: dict[str, Future[list[Json]]], language: str) -> None:
    for (message, marks), answer in zip(TALKS[language], talks[language].result(), strict=True):
        assert answer["status"] == "completed", (message, answer["said"])
        names = " ".join(file["name"] for file in answer.get("files") or [])
        for mark in marks:
            assert mark in f"{answer['said']} {names}", message


def test_a_pasted_table(caller: Caller) -> None:
    message = f"What is the total revenue?\n{csv().decode()}"
    assert f"{TOTAL:,}" in say(caller, "pasted", message)["said"]


def test_the_file_that_answers_a_question_is_made_into_what_was_asked_for(caller: Caller) -> None:
    asked = say(caller, "answers", "make a bar chart of revenue by region as svg")
    assert asked["status"] == "needs_input"
    done = say(caller, "answers", "here it is", sales_csv=csv())
    assert done["status"] == "completed"
    assert "Bar chart" in done["said"]
    assert "sales-chart.svg" in done["said"]


def test_stopped_work_is_started_again_with_its_file(caller: Caller) -> None:
    def job_of(message: Json) -> Json:
        found = eventually(lambda: caller.get(message["id"])["jobs"], SECONDS, "the job")
        assert found
        job: Json = found[0]
        return job

    given = [{"name": "sales.csv", "base64": base64.b64encode(csv()).decode()}]
    sent = caller.send("make a film", conversation="stops", files=given)
    work = job_of(sent)["work_id"]
    assert caller.call("POST", f"/v1/work/{work}/stop").status_code == 200
    assert caller.final(sent["id"], SECONDS)["jobs"][0]["status"] == "cancelled"
    again = job_of(caller.send("start again", conversation="stops"))
    assert (again["title"], again["work_id"]) == ("Video from sales.csv", work)
    assert caller.call("POST", f"/v1/work/{work}/stop").status_code == 200


def test_a_bare_request_after_an_answer_asks_of_what(caller: Caller) -> None:
    assert "2,100" in say(caller, "narrow", "what was the revenue in May?", sales_csv=csv())["said"]
    asked = say(caller, "narrow", "make a chart")
    assert (asked["question"], asked["jobs"], asked["credits_used"]) == (
        "Of what was just answered, or of the whole file?",
        [],
        0,
    )
    whole = asked["answer_format"]["choices"][1]
    assert "June 2025" in say(caller, "narrow", whole)["said"]
    say(caller, "narrow", "what was the revenue in May?")
    assert "2,100" in say(caller, "narrow", "a chart of that")["said"]
