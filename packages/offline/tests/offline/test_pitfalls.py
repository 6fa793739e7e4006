"""Messages that were answered wrongly once: each is right now, or asked about."""

from pathlib import Path

import pytest

from agentpost_offline.frame import Thing
from tests.agents.fakes import file
from tests.libraries import openpyxl
from tests.offline.conversations import Conversation, csv_file, frame, said

JOBS = "job,worker,hours,invoiced\nJ1,Jo,5,yes\nJ2,Sam,3,no\nJ3,Jo,2,no\n"
ORDERS = "order,amount,paid,shop\n1,10,yes,North\n2,20,no,South\n3,40,no,North\n"
REPS = "rep,shop,amount,late\nAnn,North,100,yes\nBob,South,50,no\nAnn,South,70,no\nCy,North,30,no\n"
MARKS = "name,maths,physics\nAnn,80,30\nBob,40,90\n"
KIDS = "name,class,age,score\nAli,A,11,5\nCal,A,13,2\nBea,B,12,7\nDan,B,10,1\n"
MEMBERS = (
    "member,team,visits,joined\nAnn,Red,3,2026-01-01\nBob,Blue,9,2025-05-01\nCat,Red,5,2024-02-02\n"
)
EXPENSES = "item,person,amount,receipt\nPens,Al,10,yes\nTaxi,Al,40,no\nDesk,Bo,200,no\n"
PARCELS = "driver,parcels,day\nAbe,10,2026-01-05\nBo,20,2026-01-31\nAbe,70,2026-02-28\n"
UNITS = "rep,units,amount\nAnn,3,1000\nBob,11,900\n"
DOGS = "dog,weight (kg)\nRex,30\nTia,8\nKim,6\n"
NUMBERS = "order,units,price\n1,5,10\n2,2,90\n3,7,20\n"
GAMES = """game,captain,room,players,escaped
g1,Ann,Vault,2,yes
g2,Ann,Vault,6,no
g3,Ann,Lab,2,yes
g4,Bo,Lab,6,no
g5,Bo,Lab,2,no
"""
WASTE = """dish,cooked,wasted,day
soup,20,1,2026-01-01
pie,40,10,2026-01-01
soup,40,5,2026-01-02
"""
BRANCHES = "الفرع,الكمية,التالف\nشمال,100,10\nجنوب,50,5\n"
LATE = "job,rider,area,late\nJ1,Jo,N,yes\nJ2,Jo,S,no\nJ3,Sam,N,no\nJ4,Sam,N,\n"
RIDES = "job,rider,area,late\nJ1,Jo,N,yes\nJ2,Jo,S,yes\nJ3,Sam,N,yes\nJ4,Sam,N,no\n"
RATES = "rider,late,rate\nJo,yes,3\nJo,no,4\nSam,no,5\n"
FOUND = """item,place,claimed,value
Bag,Bus,yes,10
Bag,Tram,no,20
Phone,Bus,no,200
Phone,Bus,yes,100
"""
CREWS = "crew,late,done\nA,yes,no\nB,no,yes\nA,yes,yes\n"
MEALS = "day,site,meals\n2026-05-01,A,10\n2026-05-02,B,30\n2026-06-01,A,40\n"
DATES = """job,rider,booked,delivered,late
J1,Jo,2026-05-30,2026-06-01,yes
J2,Jo,2026-06-02,2026-06-02,no
J3,Sam,2026-06-03,2026-06-05,no
"""
SHOP = """day,item,qty,unit price,discount,amount
2026-05-01,Pot,2,10,10,18
2026-05-02,Pot,-1,10,,-10
2026-06-01,Tree,1,30,,30
"""
HARVEST = """day,crop,kg,price per kg
2026-06-01,Bean,10,4
2026-06-02,Bean,20,2
2026-07-01,Leek,5,3
"""
SHIRTS = """order,club,qty,price,total,status
1,Ajax,1,80,80,returned
2,Ajax,2,80,160,delivered
3,Celtic,1,90,90,delivered
4,Celtic,1,90,90,delivered
"""
MOVES = """job,day,crew,volume (m³),price (£)
J1,2026-05-02,Red,20,500
J2,2026-05-09,Blue,30,700
J3,2026-06-01,Red,10,300
"""
CARE = """child,day,late (min),picked up
K1,2026-05-01,10,17:40
K2,2026-05-01,0,16:00
K1,2026-05-02,5,17:40
"""
RENTS = """flat,building,tenant,rent,paid
F1,Mill,Ann,800,yes
F2,Mill,Bob,1100,no
F3,Dock,Cy,900,yes
F4,Dock,Di,650,no
F5,Dock,Cy,100,no
"""
COOKS = "dish,cook,cooked,wasted\nsoup,Ann,40,4\npie,Bo,20,6\n"
SLIMMERS = "member,weight lost,practice (min)\nAnn,5,100\nBob,1,20\nCy,9,60\n"
VALUES = "item,place,value\nBag,Bus,10\nPhone,Tram,20\n"
CASH = """Datum,Art,Kategorie,Betrag
2024-05-02,Einnahme,Beitrag,100
2025-01-09,Einnahme,Beitrag,200
2025-02-03,Ausgabe,Halle,50
2025-03-03,Ausgabe,Bälle,30
"""
FALLS = """Date,Ward,Type,Age
2025-01-03,Oak,Fall,80
2025-01-09,Elm,Fall,70
2025-03-20,Oak,Fall,75
2025-03-25,Oak,Other,60
"""
CLUB = """Name,Group,Paid,Joined
Ann,Junior,no,2019-05-01
Bob,Senior,no,2021-02-03
Cy,Junior,yes,2022-03-04
"""
DEFECTS = (
    "Anlage,Mängel,geprüft\nOfen,ja,ja\nOfen,nein,\nOfen,ja,ja\nKamin,nein,nein\nKamin,ja,ja\n"
)
RACES = "bird,owner,speed,prize\nb1,Al,1100,5\nb2,Bo,1500,9\nb3,Bo,900,0\n"
OIL = "Fecha;Socio;Rendimiento %\n2024-11-02;Ana;18\n2024-12-03;Ana;20\n2025-01-04;Bea;30\n"
MISSED = "name,group,days missed,age\nAnn,A,0,20\nBo,A,2,30\nCy,B,4,25\n"
SHIFTS = "who,date,late\nA,2026-05-03,yes\nB,2026-05-01,yes\nA,2026-05-02,no\n"
KEYS = "key,status,fee\nk1,in,10\nk2,out,25\n"
TEAS = "producto,tienda,cantidad\nTé,N,4\nCafé,N,7\n"
BIKES = """job,kind,parts £,status,hours
J1,E-bike,90,done,3
J2,Road,100,cancelled,0
J3,E-bike,20,done,5
"""
WOOD = (
    "Kunde,Art,Holz,Rechnung €\nMeier,Bank,Eiche,100\nHuber,Tisch,Buche,200\nHuber,Tisch,Buche,20\n"
)
GIFTS = "Ville,Montant,Moyen\nVertou,250,espèces\nRezé,20,chèque\n"
BILLS = "date,bill\n2023-01-02,10\n2023-12-20,20\n2024-01-03,30\n2024-12-28,50\n"
SALES = """Date,Invoice,Item,Qty,Unit price,Discount %,Total,Sold by,Payment
2024-01-09,I1,Lock,2,10,0,20,Ann,card
2024-02-13,I2,Bike,1,100,10,90,Bo,cash
2024-03-13,I3,Lock,4,10,50,20,Bo,card
"""
PLOTS = "plot,section,paid\nN1,North,no\nN2,North,yes\nS1,South,\nS2,South,yes\n"
CARGO = """ref,status,mode,kg,freight
R1,Delivered,Air,10,50
R2,In transit,Sea,100,20
R3,In transit,Air,20,70
R4,Delivered,Sea,300,60
"""
WATER = (
    "sample,matrix,analyte,result,unit\n1,Well,Lead,4,µg/L\n2,Well,Iron,9,mg/L\n3,Tap,Lead,6,µg/L\n"
)
CALLS = "call,agent,day,wait\nc1,Al,2024-07-01,5\nc2,Bo,2024-07-09,7\nc3,Al,2024-07-10,9\n"
BINS = "bin,output\na1,5\na1,6\nA1,7\nA1,8\n"


@pytest.mark.parametrize(
    ("table", "messages", "answer"),
    [
        # A metal is no leader, and its amounts are in one unit.
        (WATER, "average result of iron by matrix // Lead as well.", "- Tap, Lead: 6\n"),
        # What was taken is the total of each sale, not its pieces at their price before discounts.
        (PLOTS, "how many paid and not paid by section", "- North, no: 1\n"),
        (CARGO, "how many are not delivered // list the ones by air", "Mode = Air, 1 row."),
        (CARGO, "total kg for air // and sea? // freight per kg for both", "- Sea: 0.20\n"),
        (REPS, "amount by shop without the late ones and ann", "- South: 50\n- North: 30\n"),
        (REPS, "amount without north or late", "Total Amount: 120."),
        (ORDERS, "amount without the unpaid ones and south", "Total Amount: 10."),
        (MARKS, "who has over 70 in maths and under 50 in physics", "- Ann: Maths 80, Physics 30"),
        (MEMBERS, "visits by member // only the biggest", "Bob: 9 (highest"),
        (UNITS, "total units by rep // who made the most of that", "Bob: 11 (highest"),
        (BINS, "total output by bin", "- A1: 15\n- a1: 11\n"),
        # Of what share the rows are, and of what another figure.
        (GAMES, "what percent escaped, vault vs lab", "- Vault: 50%\n- Lab: 33.33%\n"),
        (GAMES, "who escaped the most // in % of their games i mean", "Ann: 66.67% (highest"),
        (WASTE, "what percent of cooked was wasted by dish", "- pie: 25%\n- soup: 10%\n"),
        (WASTE, "total wasted // as percent of what was cooked?", "Cooked: 16%."),
        (WASTE, "total wasted and which dish is the worst", "Pie: 10 (highest: total Wasted)"),
        (WASTE, "how much was wasted on 2026-01-02 and which dish had most", "Soup: 5 (highest"),
        (WASTE, "total cooked, and the average per entry", "Average Cooked: 33.33."),
        (WASTE, "which dish cooked most", "Soup: 60 (highest: total Cooked)"),
        (GAMES, "list games with 6 players", "- g2: Ann, Vault, no\n- g4: Bo, Lab, no\n"),
        (GAMES, "how many games had 2 players", "Number of rows: 3."),
        (BRANCHES, "ما نسبة التالف من الكمية", "10%."),
        (COOKS, "how much was wasted // what percent of cooked is that", "Cooked: 16.67%."),
        (WASTE, "how much of the soup was wasted", "Total Wasted: 6."),
        (WASTE, "total wasted by dish // worst first", "- pie: 10\n- soup: 6\n"),
        (LATE, "list late jobs // what percent is that", "Share of the rows of each: 33.33%."),
        (FOUND, "claimed rate by place // and in total", "Share of the rows of each: 50%."),
        (FOUND, "claimed rate by place // only over 40%", "Bus: 66.67%.\n"),
        (CREWS, "late rate by crew // same for done", "- B: 100%\n- A: 50%\n"),
        (RIDES, "who was worst for lateness", "Jo: 2 (highest"),
        (RENTS, "which building is the worst for unpaid rent", "Mill: 1,100 (highest"),
        # Several demands in one.
        (MEALS, "total meals and the top site", "Total Meals: 80."),
        (MEALS, "meals total and average", "Average Meals: 26.67."),
        (MEALS, "total meals in May and which site had the most overall", "A: 50 (highest"),
        (CASH, "wie viel haben wir 2025 eingenommen und wie viel ausgegeben?", "gesamt: 80."),
        # What goes on with a list or a figure.
        (CLUB, "how many havent paid // who are they, just the juniors", "- Ann: "),
        (FALLS, "how many falls by month", "- February 2025: 0\n"),
        (MEALS, "total meals by site // only the ones over 40", "A: 50.\n"),
        (MEALS, "total meals // and which site", "- A: 50\n- B: 30\n"),
        (MEALS, "i will need the total meals by site", "- A: 50\n"),
        (DEFECTS, "wie oft gab es mängel je anlage und wieviel prozent sind das", "- Ofen: 2\n"),
        (RACES, "prize money by owner", "- Bo: 9\n- Al: 5\n"),
        (OIL, "rendimiento medio de noviembre y de diciembre", "- noviembre de 2024: 18"),
        (MISSED, "list who has 2 days missed or more", "- Bo: Days missed 2"),
        (BIKES, "show me every e-bike job where the parts were over 80 quid", "- J1: Parts £90"),
        (BIKES, "average hours // take the cancelled jobs out", "Average Hours: 4."),
        (WOOD, "Rechnung je Holzart", "- Buche: 220"),
        (MEALS, "best site and total meals", "A: 50 (highest"),
        (MEALS, "total meals by site, need it for monday", "“need it for monday” changes nothing"),
        (MEALS, "meals by site for our annual report", "“for our annual report” changes nothing"),
        (SHIFTS, "on how many days did A work", "Different values of Date: 2."),
        (MEALS, "meals by site in may // and in total", "Total Meals: 40."),
        (KEYS, "how much did we spend", "Total Fee: 35."),
        (TEAS, "cantidad de té", "Cantidad en total: 4."),
        (GAMES, "how many did not escape // what percent is that // by room", "- Vault: 50%"),
        (MARKS, "highest maths and highest physics", "Highest Maths: 80. Highest Physics: 90.\nC"),
        (SHIFTS, "list the late ones by date", "- B, 1 May 2026\n- A, 3 May 2026\n"),
        (SHOP, "total takings by item", "- Tree: 30\n- Pot: 8"),
        (SHOP, "total sales in may", "Total Amount: 8."),
        (SHIRTS, "return rate per club in %", "- Ajax: 50%\n- Celtic: 0%"),
        (MOVES, "revenue by crew", "- Red: £800\n- Blue: £700"),
        (SHIRTS, "turnover by club", "- Ajax: 240\n- Celtic: 180"),
        (HARVEST, "kg by crop", "Total Kg:\n- Bean: 30\n- Leek: 5"),
        (HARVEST, "average price per kg by crop", "Average Price per kg:"),
        (HARVEST, "standard deviation of kg", "Standard deviation of Kg: 7.64."),
        (
            HARVEST,
            "kg by crop // only june // crop with the most kg",
            "This is no longer only June 2026.\nBean: 30",
        ),
        (SHIFTS, "list the late ones // newest first", "- A, 3 May 2026\n- B,"),
    ],
)
async def test_it_is_right(tmp_path: Path, table: str, messages: str, answer: str) -> None:
    name = "expenses.csv" if table is EXPENSES else "table.csv"
    turn = await said(csv_file(tmp_path, table, name), *messages.split(" // "))
    assert answer in turn.text, (turn.text, turn.questions)


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        (KIDS, "list class A // oldest first"),
        (KIDS, "list class A // biggest first"),
        (KIDS, "list class A // what is the biggest"),
        (KIDS, "list class A // only under 4 in score"),
        (KIDS, "oldest child in each class"),
        (KIDS, "who has the highest score in each class"),
        (MEMBERS, "visits by member, oldest first"),
        (PARCELS, "compare the third and the second half, total parcels"),
        (REPS, "how many are not late or in the south"),
        (UNITS, "units over 10 or under 5"),
        (UNITS, "total amount where units is under 5 or above 10"),
        (UNITS, "total units under 5 units or over 950 amount"),
        (JOBS, "which jobs are not invoiced // as a bar chart"),
        (JOBS, "which jobs are not invoiced // as a bar chart of hours"),
        (DOGS, "how many dogs weigh over 10 pounds"),
        (GAMES, "percentage of escaped by room"),  # of the room's games, or of all that escaped
        (GAMES, "how many escaped and which room is the worst"),
        (WASTE, "total cooked by dish and the average"),
        (WASTE, "what percent of soup was wasted"),  # of the soup, or of all that was wasted
        (WASTE, "total cooked by dish and wasted as percent of it"),
        (WASTE, "wasted as percent of cooked over 20%"),
        (WASTE, "wasted by dish // excel and chart please"),
        (SLIMMERS, "practice by member, worst first"),
        (LATE, "what percent were late // chart that"),
        (RATES, "late rate by rider"),
        (DATES, "late rate by rider // only june"),
        (MEALS, "chart of meals by site for the zorble meeting in june"),
        (CREWS, "late rate by crew // done rate by crew // both of them as a table"),
        (FOUND, "total value and claimed rate"),
        (CASH, "wieviel prozent der Einnahmen haben wir ausgegeben"),
        (CASH, "Einnahmen minus Ausgaben"),
        (RACES, "fastest and cheapest bird"),
        (GIFTS, "un camembert des dons par ville, et le don moyen"),
        (BILLS, "was 2024 dearer than 2023"),
        (KIDS, "average score by class // and the oldest"),
        (MEALS, "meals by site in may // and which site"),
        (MEALS, "chart of meals by site for the committee meeting on 1 june"),
        (CARE, "who is picked up late most often"),
        (
            "date,night manager,noise\n2026-05-01,Ann,3\n2026-05-02,Bob,5\n",
            "which night had the most noise",
        ),
        (CARE, "which child was late most often"),
        (RENTS, "who pays the most"),
    ],
)
async def test_it_is_asked_about(tmp_path: Path, table: str, messages: str) -> None:
    turn = await said(csv_file(tmp_path, table), *messages.split(" // "))
    assert turn.questions, turn.text
    assert not turn.started


async def test_a_figure_of_another_table_is_asked_about(tmp_path: Path) -> None:
    talk = Conversation()
    other = "order,branch,meals,day\n1,X,10,2025-01-01\n2,Y,50,2025-05-01\n3,Y,5,2025-06-30\n"
    files = [csv_file(tmp_path, MEALS, "meals.csv"), csv_file(tmp_path, other, "other.csv")]
    await talk.say("total meals at site A", *files)
    turn = await talk.say("compare the first quarter with the second for branch Y")
    assert turn.questions, turn.text


async def test_a_workbook_alone_is_of_the_chart_before(tmp_path: Path) -> None:
    (job,) = (
        await said(csv_file(tmp_path, PARCELS), "chart parcels by driver", "excel pls")
    ).started
    assert frame(job).thing is Thing.TABLE
    assert frame(job).queries[0].groups == ("driver",)


async def test_two_forms_are_both_of_what_was_answered(tmp_path: Path) -> None:
    first, second = (
        frame(job)
        for job in (
            await said(csv_file(tmp_path, WASTE), "wasted by dish", "in excel and as a chart")
        ).started
    )
    assert {first.thing, second.thing} == {Thing.CHART, Thing.TABLE}
    assert first.queries == second.queries
    assert first.queries[0].groups == ("dish",)


async def test_a_report_on_the_table_is_one_job_and_of_all_of_it(tmp_path: Path) -> None:
    text = "Could you write a short report on absences for the head? Word would be good."
    absences = "day,class,lessons\n2025-01-03,7A,3\n2025-01-09,7B,2\n2025-02-09,7B,1\n"
    source = csv_file(tmp_path, absences, "absences.csv")
    (job,) = (await Conversation().say(text, source)).started
    assert frame(job).formats == ("docx",)
    assert not frame(job).queries


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("y si un equipo no se presenta que pasa", "Si un equipo no se presenta"),
        ("Darf ich sonntags Rasen mähen?", "An Sonn- und Feiertagen sind Rasenmäher"),
    ],
)
async def test_a_question_about_a_document_changes_nothing_of_it(
    tmp_path: Path, question: str, passage: str
) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text(
        "# Sanciones\n\nCinco tarjetas amarillas suponen una sanción.\n\nSi un equipo no se"
        " presenta, pierde el partido.\n\n# Ruhe\n\nDie Hecke darf 1,25 m hoch sein.\n\n"
        "An Sonn- und Feiertagen sind Rasenmäher untersagt.\n"
    )
    turn = await Conversation().say(question, file(rules, "text/markdown"))
    assert passage in turn.text, (turn.text, turn.questions)


async def test_amounts_in_several_units_are_not_averaged(tmp_path: Path) -> None:
    turn = await Conversation().say("what is the average result", csv_file(tmp_path, WATER))
    assert "mg/L" in turn.questions[0]


async def test_a_document_is_a_page_and_a_pdf_and_gets_its_title(tmp_path: Path) -> None:
    letter = tmp_path / "letter.md"
    letter.write_text("# Lease\n\nThe rent is 900.\n")
    talk, text = Conversation(), "turn this into a web page, and a pdf as well"
    (job,) = (await talk.say(text, file(letter, "text/markdown"))).started
    assert frame(job).formats == ("html", "pdf")
    (job,) = (await talk.say("can the heading say Harbour Court instead")).started
    assert frame(job).style.title == "Harbour Court"


async def test_two_things_are_both_made_though_a_word_of_one_is_not_understood(
    tmp_path: Path,
) -> None:
    turn = await said(
        csv_file(tmp_path, WATER),
        "one page dashboard for my blurb. and an excel pivot analyte by matrix with average result",
        "do this",
    )
    assert [frame(one).thing for one in turn.started] == [Thing.SITE, Thing.TABLE]


async def test_a_scatter_plot_is_called_so(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "scatter plot of kg against freight for my blurb", csv_file(tmp_path, CARGO)
    )
    assert "Scatter plot" in turn.questions[0]


async def test_prices_of_a_list_are_no_takings(tmp_path: Path) -> None:
    prices = csv_file(tmp_path, "项目,标准价\n洗牙,200\n补牙,300\n拔牙,400\n", "收费标准.csv")
    turn = await Conversation().say("总收入是多少?", prices)
    assert turn.questions, turn.text


async def test_a_pie_of_a_yes_or_no_has_both(tmp_path: Path) -> None:
    (job,) = (await Conversation().say("pie of paid", csv_file(tmp_path, ORDERS))).started
    (query,) = frame(job).queries
    assert query.groups == ("paid",)
    assert not query.filters


KENNEL = """booking,dog,kennel type,nights,total £,vaccinated,day
B1,Rex,Suite,2,40,Y,2023-01-02
B2,Tia,Large,3,60,N,2023-12-30
B3,Rex,Suite,5,100,N,2024-01-03
B4,Kim,Large,1,20,Y,2024-12-29
"""


async def test_it_is_all_answered(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "how many nights in total and how much money was that",
        csv_file(tmp_path, KENNEL, "bookings.csv"),
    )
    assert all(one in turn.text for one in ("Nights: 11.", "£220")), (
        turn.text,
        turn.questions,
        turn.choices,
    )


async def test_an_answer_of_one_sheet_is_drawn_where_there_are_two(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    first, second = book.active, book.create_sheet("Fees")
    for row in (("member", "belt", "group"), ("Ann", "white", "junior"), ("Bo", "white", "senior"),
                ("Cy", "blue", "junior"), ("Di", "blue", "junior")):  # fmt: skip
        first.append(row)
    for fee in (("month", "fee"), ("May", 5), ("June", 6)):
        second.append(fee)
    book.save(tmp_path / "judo.xlsx")
    talk = Conversation()
    turn = await talk.say("number of members by belt and group", file(tmp_path / "judo.xlsx"))
    assert "white, junior" in turn.text
    (job,) = (await talk.say("stacked chart of it")).started
    assert frame(job).queries[0].groups == ("belt", "group")


async def test_a_report_with_a_chart_is_one_job(tmp_path: Path) -> None:
    message = "a report on the meals by site, with a chart"
    (job,) = (await Conversation().say(message, csv_file(tmp_path, MEALS))).started
    assert frame(job).thing is Thing.REPORT


async def test_a_year_in_the_tables_name_is_all_of_it(tmp_path: Path) -> None:
    source = csv_file(tmp_path, "region,value\nN,5\nS,7\n", "takings_2024.csv")
    turn = await Conversation().say("total value 2024 by region", source)
    assert "- S: 7\n- N: 5" in turn.text
    turn = await Conversation().say("total value 2023 by region", source)
    assert "no column of dates" in turn.questions[0]


async def test_a_month_of_several_columns_of_dates_says_which(tmp_path: Path) -> None:
    table = "member,joined,paid,paid on\nA,2020-01-02,10,2026-01-03\nB,2021-03-02,20,2026-02-03\n"
    talk = Conversation()
    turn = await talk.say("paid per month", csv_file(tmp_path, table))
    assert "total Paid by month (Paid on)" in turn.choices
    assert "total Paid by month (Paid on)" in (await talk.say("total Paid by month (Paid on)")).text


async def test_a_word_of_a_document_may_be_written_wrong(tmp_path: Path) -> None:
    path = tmp_path / "care.md"
    path.write_text("# Care\n\nStitches are removed after ten days.\n\nGive it water.\n")
    turn = await Conversation().say("when are the stiches removed", file(path, "text/markdown"))
    assert "Stitches are removed" in turn.text
    assert "No passage has" not in turn.text
