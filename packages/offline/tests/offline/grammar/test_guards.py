"""Guards stand before any figure: equal periods, no sums of rates, rows only if asked for, no
"best" where less may be better, and nothing beside what was said."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from agentpost_offline.data.answers import answer_query
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Aggregate, Measure
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.grammar.vocabulary import language_of
from tests.offline.data.given import file

SALES = "day,shop,product,units,price,revenue\n" + "\n".join(
    f"{year}-{month:02}-10,{shop},{product},{month},{price},{month * price}"
    for year, last in ((2024, 12), (2025, 6)) for month in range(1, last + 1)
    for shop in ("North", "South") for product, price in (("Tea", 2), ("Milk", 3))
)  # fmt: skip
MARKS = "pupil,class,mark,words\n" + "\n".join(
    f"Pupil {n},{'8a' if n % 3 else '8b'},{1 + n % 5},{40 * n + n % 7}" for n in range(1, 25)
)
INVOICES = "invoice,customer,status,amount,e-mail\n" + "\n".join(
    f"RE-{n:03},{('Acme', 'Blue Fox', 'Kolb')[n % 3]},{('open', 'paid')[n % 2]},{100 * n} €,"
    + (f"mail{n}@example.org" if n > 1 else "")
    for n in range(1, 13)
)  # fmt: skip
RATES = "source,bounce_rate,cost,rating\n" + "\n".join(
    f"{('Mail', 'Web')[n % 2]},{n}.5%,{n} €,{n % 5 + 1}" for n in range(1, 9)
)
BILLS = "client,currency,amount net,born\n" + "\n".join(
    f"{('Acme', 'Kolb')[n % 2]},{('EUR', 'CHF')[n % 3 > 0]},{n * 10},{1970 + n}"
    for n in range(1, 10)
)
RENTALS = "rental,date,member,bike,price (EUR),damaged,no-shows\n" + "\n".join(
    f"R{n:02},2026-03-{n:02},{('Ann', 'Bo', 'Cy', 'Di', 'Ed', 'Flo', 'Gil')[n % 7]},"
    f"{('Tandem', 'City')[n % 2]},{10 if n < 12 else 20},{('no', 'yes')[n in (2, 3, 4, 6)]},"
    f"{1 + n % 2}"
    for n in range(1, 13)
)  # fmt: skip
LOAVES = "Datum;Backware;gebacken (Stk);verkauft (Stk);Preis €\n" + "\n".join(
    f"{day:02}.09.2024;{('Brezel', 'Croissant')[day % 2]};{20 + day};{10 + day};"
    f"{(0.95, 1.8)[day % 2]}"
    for day in range(2, 15)
)  # fmt: skip
METER = "read on,Strom Zählerstand (kWh)\n" + "\n".join(
    f"2024-{month:02}-01,{41000 + 300 * month}" for month in range(1, 13)
)
HIVES = "Rucher,N° ruche,date,Miel (kg),Traitée varroa\n" + "\n".join(
    f"{('Moulin', 'Garenne')[n % 2]},{n},2024-0{month}-20,{n + month},{('oui', 'non')[n % 4 == 3]}"
    for n in range(1, 9) for month in (5, 7)
)  # fmt: skip
STAYS = "arrived,stay h:mm,ticket,room\n" + "\n".join(
    f"2025-01-{n + 1:02},{n % 3}:{(10, 50)[n % 2]},{('day', 'annual')[n % 2]},"
    f"{('1 Rosemary', '2 Thyme', '3 Sage')[n % 3]}"
    for n in range(12)
)
LESSONS = "date,pupil,minutes,price (€),paid?,note\n" + "\n".join(
    f"2025-0{n % 3 + 1}-{n + 1:02},{('Murat Aydin', 'Sofie Brandt')[n % 2]},{45 * (n % 2 + 1)},"
    f"{(65, 130)[n % 2]},{('yes', 'no')[n % 4 == 1]},{('', 'night')[n % 5 == 0]}"
    for n in range(20)
)
EPISODES = "Ep,Title,Guest,Length,Apple\n" + "\n".join(
    f"{n},{('The slug episode', 'Bees', 'Moss', 'Owls')[n % 4]} {n},"
    f"{('', 'Kim', 'Tom')[n % 3]},0:{31 + n * 7 % 29}:00,{n * 31}"
    for n in range(1, 13)
)
_REFUND_COLUMNS = "order,ordered,delivered,item,paid by,ticket,amount (€),balance (€),refunded\n"
REFUNDS = _REFUND_COLUMNS + "\n".join(
    f"{n},2025-01-{n + 10},2025-02-{n + 3},{('tea', 'cake')[n % 2]},"
    f"{('cash', 'card', 'card')[n % 3]},{('day', 'annual')[n % 2]},{n},{n * 10},"
    f"{('yes', 'no', '')[n % 3]}"
    for n in range(1, 10)
)  # fmt: skip
LOANS = "Author,2021,2022,2023\nDonaldson,1308,1380,1641\nDahl,928,1106,1068\nKinney,40,66,95\n"
CLINIC = "date,doctor,visit type,waiting time (min),charge ($),status\n" + "\n".join(
    f"2025-0{n % 3 + 1}-{n + 1:02},{('Adams', 'Bell')[n % 2]},{('new', 'follow-up')[n % 4 > 1]},"
    f"{10 + n},{(40, 25, 90)[n % 3]},{('attended', 'missed')[n % 3 == 0]}"
    for n in range(12)
)  # fmt: skip
TASKS = "task,owner,state,where,hours\n" + "\n".join(
    f"Task {'ABCDEFGHIJKL'[n]},{('Mia', 'Leo')[n % 2]},{('done', 'open', 'seen')[n % 3]},"
    f"{('out', 'in')[n % 4 == 0]},{n + n % 2}"
    for n in range(12)
)  # fmt: skip
MEMBERS = "name,section,fee (€),age,phone,fee paid?\n" + "\n".join(
    f"Member {'ABCDEFGHIJKL'[n]},{('North', 'South')[n % 2]},{(60, 120)[n % 3 > 0]},{20 + 4 * n},"
    f"{'' if n % 5 else f'0170-{n}'},{('yes', 'no')[n % 4 == 0]}"
    for n in range(12)
)  # fmt: skip
TICKETS = "ticket,opened,closed,status,agent,hours open\n" + "\n".join(
    f"T{n},2025-0{n % 3 + 1}-0{n % 7 + 1},{f'2025-04-0{n % 9 + 1}' if n % 3 else ''},"
    f"{('Open', 'Closed')[n % 3 > 0]},{('Ann', 'Bo')[n % 2]},{n * 7 % 30}"
    for n in range(12)
)  # fmt: skip
BUDGET = "month,income,rent\n" + "\n".join(
    f"{month},{100 * n},{n}"
    for n, month in enumerate(("January", "February", "March", "April", "May"), 1)
)
CARS = "no.,model,status,price per day,days,total price\n" + "\n".join(
    f"V{n:02},{('Golf', 'Polo')[n % 2]},{('rented', 'repair')[n % 3 == 0]},{(49, 69)[n % 2]},"
    f"{n % 5 + 1},{(49, 69)[n % 2] * (n % 5 + 1)}"
    for n in range(12)
)  # fmt: skip
DONATIONS = "date,donor,purpose,amount,gift aid,currency\n" + "\n".join(
    f"2024-0{n % 6 + 1}-10,{('Ann', 'Bo', 'Cy')[n % 3]},{('Roof', 'Youth')[n % 2]},{n * 10},"
    f"{('Yes', 'No', 'n')[n % 3]},{('EUR', 'USD')[n % 4 == 0]}"
    for n in range(12)
)  # fmt: skip
VENTAS = "Fecha,Producto,Importe,Pagado\n" + "\n".join(
    f"2024-{n:02}-05,{('Pan', 'Queso')[n % 2]},{n},{('sí', 'no')[n % 4 == 0]}" for n in range(1, 13)
)
COTISATIONS = "Nom,Section,Cotisation (€),Payé\n" + "\n".join(
    f"{'ABCDEFGH'[n]}bert,{('Judo', 'Tennis')[n % 2]},{(80, 95)[n % 3 > 0]},"
    f"{('oui', 'non')[n % 4 == 0]}"
    for n in range(8)
)  # fmt: skip
TABLES = {
    "clinic.csv": CLINIC, "tasks.csv": TASKS, "members.csv": MEMBERS, "tickets.csv": TICKETS,
    "budget.csv": BUDGET, "cars.csv": CARS, "donations.csv": DONATIONS, "ventas.csv": VENTAS,
    "cotisations.csv": COTISATIONS,
    "refunds.csv": REFUNDS, "lessons.csv": LESSONS, "podcast.csv": EPISODES, "loans.csv": LOANS,
    "loaves.csv": LOAVES, "meter.csv": METER, "hives.csv": HIVES, "stays.csv": STAYS,
    "rentals.csv": RENTALS,
    "bills.csv": BILLS,
    "sales.csv": SALES, "marks.csv": MARKS, "invoices.csv": INVOICES, "rates.csv": RATES,
}  # fmt: skip
TABLES |= {
    "tills.csv": "day,paid by,total €,refunded\n2024-01-02,Cash,10,no\n2024-01-03,cash,20,yes\n"
                 "2024-01-04,Card,40,no\n",
    "absences.csv": "pupil,form,days absent\nAnn,8a,2\nBo,8a,3\nCy,8b,9\nDi,8b,4\n",
    "incidents.csv": "day,injury\n" + "\n".join(
        f"{dt.date(2023, 1, 6) + dt.timedelta(days=6 * n)},{'NY'[n % 5 == 0]}" for n in range(121)
    ) + "\n",
    "driving.csv": "day,instructor,pupil,price €,cancelled\n2025-01-02,Mick,Ann,30,yes\n"
                   "2025-01-03,Mick,Bo,35,no\n2025-01-04,Joy,Ann,40,no\n",
    "jobs.csv": "what,cost €\ntap,20\nroof,40\n",
}  # fmt: skip
ASKED = "?"


@pytest.fixture(scope="module")
def open_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Dataset]]:
    """Each table is loaded once: that takes longer than to read a question."""
    folder = tmp_path_factory.mktemp("tables")
    with ExitStack() as opened:

        @cache
        def open_one(name: str) -> Dataset:
            return opened.enter_context(open_tables([file(folder, name, TABLES[name])]))

        yield open_one


@pytest.mark.parametrize(
    ("name", "text", "truth"),
    [
        # (a) Both periods are cut to what the data covers of each.
        ("sales.csv", "did revenue grow in 2025 compared to 2024?", "did not change"),
        # (b) What is a rate by its name is averaged; what cannot be told is asked.
        ("marks.csv", "mark by class", "average Mark"),
        ("sales.csv", "sum of price", ASKED),
        ("sales.csv", "total of column units", "396"),
        # (c) Rows are counted when rows are asked for.
        ("sales.csv", "how many tea did we sell?", "198"),
        # Two spellings of a value are no two values to compare; "which" with a condition is a list.
        ("tills.csv", "which one of cash brought in more money", ASKED),
        # Where something happens each week only, a year may begin on its sixth day.
        ("incidents.csv", "2023 vs 2024, number of rows, and how many with injury", ASKED),
        # Two columns name people; what was brought in is no number of rows.
        ("driving.csv", "who has the most cancelled", ASKED),
        ("sales.csv", "revenue jan-mar 2024", "Revenue: 60."),
        # Who owes something has rows that are open; takings are the only amount of money.
        ("sales.csv", "revenue from march 2025 on", "Revenue: 180"),
        # A column of yes and no tells rows apart, and a number of members counts them.
        ("rentals.csv", "which bike gets damaged most often", "Tandem: 3"),
        ("rentals.csv", "price of damaged vs not damaged rentals", "no: €11.25"),
        ("rentals.csv", "what percentage is damaged", "33"),
        ("rentals.csv", "how many members", "rows: 12"),
        ("rentals.csv", "average price and no-shows", "No-shows: 1.50"),
        ("rentals.csv", "rentals between 2 and 5 march", "rows: 4"),
        # Rows that are asked for are listed by their names, or counted.
        ("invoices.csv", "which invoices are open", "RE-002"),
        ("invoices.csv", "all invoices of Acme", "RE-003"),
        ("invoices.csv", "customers with more than 3 invoices", "Acme: 4"),
        # Amounts in several currencies stand apart, and years are never added up.
        ("bills.csv", "total amount net", ASKED),
        ("bills.csv", "amount net by currency", "EUR: 180"),
        ("bills.csv", "total born", ASKED),
        # "Best" is the highest only where more is better; of marks the lowest may be.
        ("marks.csv", "which pupil has the highest mark", "(highest"),
        ("rates.csv", "which source has the best bounce rate", ASKED),
        # What is said twice, or beside what is done, is asked about.
        ("sales.csv", "line or bar chart of revenue by shop", ASKED),
        ("sales.csv", "chart of revenue by shop, and tell me the total", ASKED),
        ("sales.csv", "top 3 products and top 2 shops by revenue", ASKED),
        ("sales.csv", "revenue by shop, and where they came from", ASKED),
        ("sales.csv", "revenue where shop is North", "Revenue: 495"),
        # A meter is read, and its readings are neither added up nor averaged.
        ("meter.csv", "how much Strom in 2024", ASKED),
        # The rest of a column's name says nothing more, and a plural is no longer name.
        ("hives.csv", "liste des ruches pas traitées contre le varroa", "(3 and 7)"),
        # Durations are figures where the name says what their parts are.
        ("stays.csv", "average stay by ticket", "day: 70"),
        # A price beside minutes is that of the row; a column may be called by its unit.
        ("lessons.csv", "longest lesson over 10k", ASKED),
        # What says the opposite, a name, or what is only like a word is no filter.
        ("meter.csv", "cumulative Strom Zählerstand by month", ASKED),
        # A thing that a question is about is not made.
        ("sales.csv", "is there a report", ASKED),
        ("sales.csv", "how many slides", ASKED),
        # Of yes and no, "not" is all but yes; what is left out is all of it or asked about.
        ("refunds.csv", "amount except refunded tea", ASKED),
        ("refunds.csv", "amount of tea except cash", "Amount: €14"),
        ("refunds.csv", "refund rate", "3 of 6"),
        # Two columns of dates, and hours where there are none.
        ("refunds.csv", "orders ordered in january and delivered in february", ASKED),
        ("lessons.csv", "price by hour", ASKED),
        # The best of what is not understood, and kinds or things, are asked about.
        ("refunds.csv", "how many tickets", ASKED),
        ("refunds.csv", "what's our balance", ASKED),
        # Years above columns are periods, whatever numbers stand below them.
        ("loans.csv", "total by year", "2023: 2,804"),
        # What has a unit is a figure, and never the name of a row or a group.
        ("clinic.csv", "longest waiting time by doctor", ASKED),
        # A part of a column's name makes no groups, and no kinds.
        ("clinic.csv", "how many visits", ASKED),
        ("clinic.csv", "average charge of attended visits", ASKED),
        # A condition belongs to a figure that it stands at, or is asked about.
        ("tickets.csv", "agents with more than 3 open tickets", ASKED),
        ("donations.csv", "donors who gave more than 100", ASKED),
        # "With" leaves out those who have none, and "but" what follows.
        ("members.csv", "members with a phone by section", ASKED),
        ("donations.csv", "amount with gift aid in EUR", ASKED),
        ("donations.csv", "donations in dollars", "rows: 3"),
        ("tasks.csv", "hours of all owners but Mia", ASKED),
        # A column that is called as a word is written is meant, and no value that is like it.
        ("tickets.csv", "how many tickets were opened in March", "rows: 4"),
        ("tickets.csv", "tickets closed within a day", ASKED),
        # Both ends of a range count, and both figures.
        ("budget.csv", "income from January to March", ASKED),
        ("budget.csv", "income until March", ASKED),
        # A list has its rows; "how many" is no sum of money, and "combien" may be either.
        ("members.csv", "list members and ages", "- Member L, South, €120, 64, –, yes"),
        ("members.csv", "list name, age and section", ASKED),
        ("cotisations.csv", "combien ont payé", ASKED),
        # Two questions are two demands.
        ("invoices.csv", "who is unpaid? customer + amount, and what does it come to", ASKED),
    ],
)
def test_no_figure_without_its_guard(
    open_table: Callable[[str], Dataset], name: str, text: str, truth: str
) -> None:
    data = open_table(name)
    around = Surrounding(
        data.tables, frozenset({"table"}), today="2025-07-20", language=language_of(text)
    )  # fmt: skip
    readings = read(text, around)
    if truth == ASKED:  # nothing is done before all demands are clear
        assert not readings or not all(one.is_sure for one in readings)
        return
    (frame,) = [one.frame for one in readings if one.is_sure and one.frame is not None]
    assert truth in answer_query(data, frame.queries[0], "en")[0]


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("sales.csv", "Excel of all rows sorted by revenue, lowest first", "rows_by", "revenue"),
        ("sales.csv", "sort the rows by day, as an Excel file", "rows_by", "day"),
        ("sales.csv", "excel, just shop and product", "", ASKED),
        ("sales.csv", "a table of revenue by shop instead of a chart", "groups", ("shop",)),
        # A pie has parts of a sum: rows where nothing adds up, and never averages.
        ("marks.csv", "pie chart of the classes", "measures", (Measure(None, Aggregate.COUNT),)),
        ("rates.csv", "pie chart of rating by source", "", ASKED),
    ],
)
def test_what_is_made_is_all_that_was_asked_for(
    open_table: Callable[[str], Dataset], name: str, text: str, field: str, value: object
) -> None:
    around = Surrounding(open_table(name).tables, frozenset({"table"}), today="2025-07-20")
    readings = read(text, around)
    if value == ASKED:
        assert not any(one.is_sure for one in readings)
        return
    (frame,) = [one.frame for one in readings if one.is_sure and one.frame is not None]
    assert getattr(frame.queries[0], field) == value


def test_a_word_that_is_not_understood_may_belong_to_a_longer_name(tmp_path: Path) -> None:
    table = "day,shop,pieces,pieces returned\n" + "\n".join(
        f"2025-01-{day:02},{('North', 'South')[day % 2]},{day * 5},{day % 3}"
        for day in range(1, 20)
    )
    with open_tables([file(tmp_path, "bakery.csv", table)]) as data:
        (one,) = read(
            "pieces by shop for my bank",
            Surrounding(data.tables, frozenset({"table"}), today="2025-07-20"),
        )
    assert not one.is_sure
    assert one.question is not None
    assert one.question.choices[0].label == "total Pieces returned by Shop"
