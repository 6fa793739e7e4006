"""What people put around their requests, and how they go on: purposes, remarks, several demands in
one message, and fragments behind a question that nobody answered."""

import csv
from pathlib import Path

import pytest
from PIL import Image

from agentpost.agents import File
from agentpost_offline.frame import Thing
from tests.agents.fakes import file
from tests.libraries import openpyxl
from tests.offline.conversations import Conversation, csv_file, frame, said

STAYS = """res no,guest,channel,nights,total,breakfast,status,arrival
101,Ann,Direct,2,200,yes,confirmed,2024-01-01
102,Bo,Phone,1,90,no,cancelled,2024-03-05
103,Cy,Phone,4,400,yes,confirmed,2024-03-20
104,Di,Direct,2,180,no,confirmed,2024-05-02
105,Ed,Agency,3,330,yes,no-show,2024-08-01
106,Flo,Phone,2,210,no,confirmed,2024-09-12
107,Gus,Agency,5,500,yes,confirmed,2024-11-30
108,Hal,Direct,1,80,no,confirmed,2024-12-31
"""
FUEL = """station,driver,litres,price per litre,amount
Esso,Kev,40,1.45,58.00
Esso,Sue,30,1.37,41.10
BP,Kev,50,1.40,70.00
BP,Sue,20,1.38,27.60
"""
SUBS = """player,team,fee,paid,how,kit given
Jo,U9,90,90,cash,yes
Kim,U9,90,0,,no
Lee,U11,110,110,card,no
Max,U11,110,55,cash,no
"""
TILLS = """receipt,item,amount £,payment,sold
1,lamp,20,card,yes
2,chair,40,cash,yes
3,table,90,,no
4,rug,30,,no
"""
RIDES = """ride,driver,mins,fare
1,Kev,30,9
2,Kev,20,8
3,Sue,26,7
4,Sue,10,6
"""
SHOP = """Sale no,Date,Customer,Served by,Item,Qty,Price each,Total,Tip,Paid,How,Status,Collected
S1,2025-01-03,Ann,Kev,lamp,1,20,20,2,yes,Card,done,2025-01-05
S2,2025-01-09,Bo,Sue,board,2,15,30,0,yes,Cash,done,2025-01-09
S3,2025-01-22,Cy,Kev,window,1,120,120,5,no,Card,cancelled,
S4,2025-02-02,Ann,Mo,party box,3,15,45,0,yes,Card,done,2025-02-09
S5,2025-02-14,Di,Sue,lamp,1,60,60,1,no,Cash,open,
"""
KIDS = """Number,Name,Team,Role,Subs,Age
1,Ann,Reds,captain,50,12
2,Bo,Reds,player,50,13
3,Cy,Blues,player,60,11
4,Di,One,captain,60,14
"""
CLICKS = """newsletter,sent on,audience,recipients,opened
January,2024-01-10,parents,200,120
Party special,2024-02-08,board,20,15
Spring,2024-04-12,parents,210,100
"""
VENTES = """N° vente;Date;Client;Vendeur;Article;Montant;Payé
1;03/01/2025;Dupont;Luc;lampe;40,00;oui
2;15/01/2025;Martin;Zoé;tableau;25,50;non
3;02/02/2025;Petit;Luc;fenêtre;300,00;oui
4;12/02/2025;Martin;Max;lampe;40,00;non
5;14/02/2025;Dupont;Luc;lampe;20,00;oui
"""
MABIAT = """العميل,البائع,المبلغ,المكتب
سالم,ليلى,40,الشمال
هند,كريم,26,الجنوب
نور,ليلى,60,الشمال
"""
RUNS = """runner,club,distance km,mins
Ann,Harriers,10,48
Bo,Harriers,10,55
Di,Striders,21,120
Ed,,21,105
"""
PLAYERS = """Name,Team,Kit
Ann,Reds,yes
Bo,Reds,no
Cy,Blues,
Di,Blues,yes
"""
VENTAS = """Venta;Cliente;Artículo;Importe;Pagado
1;Ruiz;lámpara;40,00;sí
2;Gil;mesa;25,50;no
3;Ruiz;ventana;300,00;sí
"""
ROOMS = """Booking,Owner,Room,Type,Fee
1,Ann,Hall,party,120
2,Bo,Board,meeting,40
3,Ann,Hall,party,180
4,Di,Board,class,60
"""
SHIFTS = """date,worker,site,hours,sick
2025-01-06,Ann,Office,8,no
2025-01-13,Bo,Hall,6,no
2025-01-27,Ann,Office,7,yes
2025-02-03,Bo,Hall,5,yes
"""
DUES = """姓名,组别,会费,已缴
王,八岁组,200,否
李,八岁组,100,是
张,十岁组,150,是
"""
MARKS = """姓名,班级,数学
王,一班,90
李,二班,55
张,一班,60
"""
SHELVES = """kind,item,stock,cost £,price £
jam,plum,3,5,10
eggs,six,2,1,2.50
"""
KEYS = """volunteer,keyholder
Ann,no
Bert,yes
Tom,yes
"""
FAMILIES = """Nachname,Vorname,Beitrag,Bezahlt
Busch,Ann,20,nein
Busch,Bo,30,ja
Voigt,Cy,25,nein
"""
VANS = """van,reg,leased,MOT due
Van 1,AB1,no,2025-05-30
Van 2,CD2,yes,2025-11-12
Van 3,EF3,yes,2026-03-08
"""


@pytest.mark.parametrize(
    ("table", "message", "answer"),
    [
        # For whom it is, and what else somebody does, changes nothing about an answer.
        (STAYS, "total nights by channel, need it for the notice board", "- Agency: 8\n"),
        (STAYS, "total nights für den Vorstand nach channel", "- Agency: 8\n"),
        # A second demand is about the rows of the first.
        (STAYS, "which channel has the most nights and which the fewest",
         "Direct: 5 (lowest: total Nights)"),
        (STAYS, "best and worst month by nights", "(lowest: total Nights)"),
        (STAYS, "average number of nights by channel", "- Agency: 4\n"),
        (STAYS, "average nights by channel and how many of each we had", "- Agency: 2, 4\n"),
        (STAYS, "bookings and revenue by channel", "- Agency: 2, 830\n"),
        (STAYS, "revenue and number of bookings by channel", "- Agency: 2, 830\n"),
        (STAYS, "number, total nights and average total by channel", "- Agency: 2, 8, 415\n"),
        # Spans of as many months are compared, in several figures.
        (STAYS, "compare march to may with sept to nov, total nights",
         "(March 2024 to May 2024) and 7 (September 2024 to November 2024)"),
        # The rows have other names, their numbers are no figures, and money is what it cost.
        (STAYS, "everything over 300 pounds", "- Cy: Total 400, Nights 4"),
        (STAYS, "what was the busiest month of the whole year by nights",
         "March 2024 and November 2024, both 5"),
        (FAMILIES, "wer hat noch nicht bezahlt?", "- Ann, Busch"),
        (SUBS, "how many paid cash", "Number of rows: 2."),
        (SUBS, "which kids have no kit yet", "- Kim: Fee 90, Paid 0\n"),
        (TILLS, "how many paid by card", "Number of rows: 1."),
        (TILLS, "how many items unsold", "Number of rows: 2."),
        (TILLS, "what percent was sold and how much money is that", "Total Amount: £60."),
        (RIDES, "which driver is slowest", "Kev: 25 (highest: average Mins)"),
        (DUES, "哪些人没缴", "- 王：会费 200"),
        (SHELVES, "whats all our stock worth, at cost and at selling price?",
         "Total Stock × Cost: £17. Total Stock × Price: £35."),
        # What a number of the rows is called is no figure; what was not paid is said by "Paid".
        (SHOP, "how many sales by how", "- Card: 3\n"),
        (SHOP, "total by item, unpaid ones dont count", "Paid ≠ no"),
        (SHOP, "which sales are not collected", "- S3: 22 January 2025, Cy, Kev, window\n"),
        (SHOP, "which sales are done", "board, Collected 9 January 2025\n"),
        (PLAYERS, "which kids are with kit", "In all: 2"),
        (KIDS, "total subs by team for parents evening on thursday", "- Reds: 100\n"),
        (FUEL, "total and average litres and amount by driver", "- Kev: 90, 45, 128, 64\n"),
        (SHIFTS, "hours by worker, sick days dont count", "- Bo: 6\n"),
        (SHOP, "who has not paid", "by Customer, Paid = no"),
        # What is left out may stand before what is asked for.
        (MABIAT, "مجموع ومتوسط المبلغ حسب المكتب", "الشمال: 100, 50\n"),
        (VANS, "which vans are leased and when is the MOT due on those",
         "- Van 2: MOT due 12 November 2025\n"),
    ],
)  # fmt: skip
async def test_a_request_is_answered(tmp_path: Path, table: str, message: str, answer: str) -> None:
    name = {STAYS: "reservations.csv", FUEL: "fuel.csv", VANS: "vans.csv"}.get(table, "subs.csv")
    turn = await Conversation().say(message, csv_file(tmp_path, table, name))
    assert answer in turn.text, (turn.text, turn.questions, turn.choices)


async def test_what_may_be_a_demand_is_asked_about(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "how many letters did we send", csv_file(tmp_path, STAYS, "reservations.csv")
    )
    assert turn.questions, turn.text
    assert not turn.started


@pytest.mark.parametrize(
    ("table", "message"),
    [
        # A purpose may be a value, and a name or a number in it may narrow the rows.
        (SHOP, "total by customer for the party"),
        (SHOP, "total by customer for the parties"),
        (STAYS, "total nights for the Bristol office"),
        (STAYS, "total nights by channel for the 2023 audit"),
        # Who sells is another one than who buys.
        (SHOP, "who sold the most"),
        (VENTES, "combien de gens ont payé"),
        # A total, or the column "Total"; a rate of what; a value that is a number too.
        (SHOP, "total and average tip by customer"),
        (KIDS, "how many in team one"),
        (KIDS, "total number by team"),
        (SHIFTS, "hours by site, they were sick"),
        (VENTES, "montant par vendeur dans un tableau"),
        (ROOMS, "chart of fee by room for the owner"),
        (ROOMS, "report for the board"),
        (SHOP, "sales over 50 pounds"),
        (RUNS, "longest run"),
        (SHIFTS, "slowest worker"),
        (SHIFTS, "top 2 and worst worker by hours"),
        (CLICKS, "write a newsletter about recipients by audience"),
    ],
)
async def test_what_may_mean_another_thing_is_asked_about(
    tmp_path: Path, table: str, message: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert turn.questions, turn.text
    assert not turn.started


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a letter to the guests by channel", "nice, as a bar chart"),
        ("nights of the guests with kids", "which of those have breakfast"),
        ("zorble by channel", "draw it as a pie"),
    ],
)
async def test_a_fragment_behind_an_open_question_is_no_request(
    tmp_path: Path, first: str, second: str
) -> None:
    """Nothing is made of the whole file, and nothing of what was answered earlier."""
    talk = Conversation()
    await talk.say("total nights by channel", csv_file(tmp_path, STAYS, "reservations.csv"))
    assert (await talk.say(first)).questions
    turn = await talk.say(second)
    assert turn.questions
    assert not turn.started
    assert not turn.text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("zorble of the stays by channel", "ok so what did that cost us in total"),
        ("zorble of the stays by channel", "thanks. can i have that as a pdf"),
    ],
)
async def test_that_behind_an_open_question_is_not_known(
    tmp_path: Path, first: str, second: str
) -> None:
    talk = Conversation()
    assert (await talk.say(first, csv_file(tmp_path, STAYS, "reservations.csv"))).questions
    turn = await talk.say(second)
    assert turn.questions
    assert not turn.started


async def test_what_a_figure_is_narrowed_to_is_not_lost_in_a_workbook(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, SUBS),
        "total fee by team, not paid by card",
        "only those over 100 pounds, as excel please",
    )
    assert turn.questions
    assert not turn.started


async def test_bars_are_no_bread(tmp_path: Path) -> None:
    table = "producto,unidades\nBarra,3\nPan,4\nBarra,5\n"
    turn = await Conversation().say(
        "un gráfico de barras con las unidades por producto", csv_file(tmp_path, table)
    )
    (job,) = turn.started
    assert not frame(job).queries[0].filters


async def test_a_sheet_is_named_by_its_place_or_its_name(tmp_path: Path) -> None:
    path, book = tmp_path / "book.xlsx", openpyxl.Workbook()
    book.remove(book.active)
    for name, table in (("Orders", STAYS), ("Phone list", KEYS)):
        sheet = book.create_sheet(name)
        for row in csv.reader(table.splitlines()):
            sheet.append(row)
    book.save(path)
    for message in (
        "which of them are keyholders? 2nd sheet", "phone list tab: who is a keyholder"
    ):  # fmt: skip
        turn = await Conversation().say(message, file(path))
        assert "- Bert\n- Tom\n" in turn.text, (message, turn.questions)


async def test_those_listed_last_are_listed_under_one_more_condition(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, STAYS),
        "list the guests with more than 1 nights",
        "which of those have breakfast",
    )
    assert "Breakfast = yes" in turn.text
    assert "In all: 4" in turn.text


async def test_how_many_hours_that_is_are_those_of_the_rows_listed(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("which workers were sick", csv_file(tmp_path, SHIFTS))
    turn = await talk.say("how many hours is that")
    assert "Total Hours: 12." in turn.text
    await talk.say("which of those were zorble")
    assert (await talk.say("how many hours is that")).questions


async def test_halves_of_a_year_are_drawn_side_by_side(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "bar chart: nights first half vs second half", csv_file(tmp_path, STAYS)
    )
    (job,) = turn.started
    query = frame(job).queries[0]
    assert frame(job).thing is Thing.CHART
    assert query.filters[0].values == ("2024-01-01/2024-06-30", "2024-07-01/2024-12-31")


async def test_how_many_percent_of_each_group_is_a_choice(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say(
        "what percentage of bookings was cancelled by channel",
        csv_file(tmp_path, STAYS, "reservations.csv"),
    )
    assert turn.choices[0] == "share of the rows of each by Channel, Status = cancelled"
    text = (await talk.say(turn.choices[0])).text
    assert "- Phone: 33.33%\n- Agency: 0%\n- Direct: 0%\n" in text
    text = (await talk.say("only with breakfast")).text
    assert "Breakfast = yes" in text
    assert "- Phone: 0%\n" in text  # of the rows with breakfast, and not of the cancelled


@pytest.mark.parametrize(
    ("table", "message", "answer"),
    [
        (MARKS, "每个班的数学平均分", "- 一班：75\n"),
        (MARKS, "数学60分以下的有哪些人", "李：55."),
    ],
)
async def test_han_characters_between_a_number_and_its_side(
    tmp_path: Path, table: str, message: str, answer: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert answer in turn.text, (turn.questions, turn.choices)


STORNOS = """order,day,total,status,country
A1,2024-04-01,100,confirmed,Germany
A2,2024-04-30,80,cancelled,France
A3,2024-05-31,60,confirmed,France
"""


async def test_two_months_are_compared_in_their_rows_and_not_row_by_row(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "compare april and may 2024, total and orders", csv_file(tmp_path, STORNOS, "orders.csv")
    )
    assert "Number of rows" in turn.text, (turn.questions, turn.choices)


async def test_what_needs_a_model_takes_no_demand_away(tmp_path: Path) -> None:
    talk, table = Conversation(), csv_file(tmp_path, SHIFTS)
    turn = await talk.say("total hours for each worker, thank you cards are going out", table)
    assert turn.questions[0].startswith("For “cards” this server needs a model")
    assert turn.choices[0] == "Do this"
    assert "- Ann: 15\n" in (await talk.say("Do this")).text
    for alone in ("why did Ann work more hours", "write Ann a letter about her hours",
                  "forecast of the hours by worker"):  # fmt: skip
        assert "Do this" not in (await Conversation().say(alone, table)).choices


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("what will march bring?", "what will"),
        ("will it rain on saturday", "will"),
        ("was meinst du, läuft es gut", "was meinst du"),
        ("mándaselo por whatsapp a Ann", "mándaselo"),
    ],
)
async def test_what_no_table_tells_needs_a_model(tmp_path: Path, message: str, word: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, SHIFTS))
    assert f"{word}" in turn.questions[0]
    assert "--agent llm:" in turn.questions[0]
    assert "Do this" not in turn.choices


async def test_an_opinion_beside_a_request_takes_nothing_away(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("what do you think, how many hours by worker", csv_file(tmp_path, SHIFTS))
    assert "“what do you think” this server needs a model" in turn.questions[0]
    assert "- Ann: 15\n" in (await talk.say("Do this")).text


async def test_what_a_picture_shows_is_never_changed(tmp_path: Path) -> None:
    path = tmp_path / "garden.png"
    Image.new("RGB", (40, 30)).save(path)
    turn = await Conversation().say("take the dog out of the photo", file(path))
    assert "never what it shows" in turn.questions[0]
    assert "Do this" not in turn.choices


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("I need to send this to the committee, total hours by worker", "- Ann: 15\n"),
        ("write to a csv file: total hours by worker", "- Ann: 15\n"),
    ],
)
async def test_where_an_answer_goes_needs_no_model(
    tmp_path: Path, message: str, answer: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, SHIFTS))
    assert answer in turn.text, turn.questions


async def test_a_kind_of_chart_is_that_of_the_chart_beside_a_workbook(tmp_path: Path) -> None:
    jobs = (
        await said(
            csv_file(tmp_path, VENTES),
            "combien on a encaissé par vendeur",
            "en camembert stp, et l excel avec",
        )
    ).started
    charts = {frame(job).thing: frame(job).style.chart for job in jobs}
    assert charts == {Thing.CHART: "donut", Thing.TABLE: None}


async def test_reasons_are_a_column_where_there_is_one(tmp_path: Path) -> None:
    table = "visit,day,reason\n1,2024-01-02,Dental\n2,2024-01-03,Skin\n3,2024-01-04,Dental\n"
    turn = await Conversation().say("donut of the reasons for visits", csv_file(tmp_path, table))
    (job,) = turn.started
    assert frame(job).queries[0].groups == ("reason",)


def picture(folder: Path, name: str) -> File:
    Image.new("RGB", (40, 30)).save(folder / name)
    return file(folder / name, "image/png")


async def test_a_picture_is_called_by_a_word_of_its_name(tmp_path: Path) -> None:
    talk = Conversation()
    pictures = [picture(tmp_path, name) for name in ("tent.png", "biscuit the dog.png")]
    (job,) = (await talk.say("make the tent one 800 wide", *pictures)).started
    assert [one.name for one in job.args["files"]] == ["tent.png"]
    (job,) = (await talk.say("crop biscuit square round the middle")).started
    assert [one.name for one in job.args["files"]] == ["biscuit the dog.png"]
    assert "wide" not in frame(job).style.options
    (job,) = (await talk.say("and both next to each other for the noticeboard")).started
    assert [one.name for one in job.args["files"]] == ["tent.png", "biscuit the dog.png"]


async def test_words_that_stand_on_a_picture_choose_none(tmp_path: Path) -> None:
    talk = Conversation()
    pictures = [picture(tmp_path, name) for name in ("tent.png", "lake.png")]
    for message in ('write "Lake Camp" on them', "write Lake Camp on them"):
        (job,) = (await Conversation().say(message, *pictures)).started
        assert [one.name for one in job.args["files"]] == ["tent.png", "lake.png"]
    (job,) = (await talk.say('write "Lake" on the tent', *pictures)).started
    assert [one.name for one in job.args["files"]] == ["tent.png"]
    (job,) = (await talk.say('now write "At the lake" at the top')).started
    assert [one.name for one in job.args["files"]] == ["tent.png"]


async def test_notes_are_turned_into_slides_and_no_picture_is_turned(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Club\n\n## Subs\n\nDue in May.\n")
    turn = await Conversation().say(
        "turn the notes into slides",
        file(tmp_path / "notes.md", "text/markdown"), picture(tmp_path, "pitch.png"),
    )  # fmt: skip
    (job,) = turn.started
    assert [one.name for one in job.args["files"]] == ["notes.md"]
    assert frame(job).formats == ("pptx",)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("put SPRING OPEN DAY on the tent in big white letters at the top", "SPRING OPEN DAY"),
        ("schreib Sommer in weißen Buchstaben drauf", "Sommer"),
    ],
)
async def test_where_and_how_words_stand_is_no_part_of_them(
    tmp_path: Path, message: str, words: str
) -> None:
    (job,) = (await Conversation().say(message, picture(tmp_path, "tent.png"))).started
    assert frame(job).style.options["text"] == words


async def test_the_other_sheet_is_looked_at_and_none_is_made(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    first, second = book.active, book.create_sheet("Pitches")
    first.title = "Bookings"
    for row in (("booking", "nights"), ("A", 2), ("B", 3)):
        first.append(row)
    for row in (("pitch", "electric"), ("P1", "yes"), ("P2", "no"), ("P3", "yes")):
        second.append(row)
    book.save(tmp_path / "camp.xlsx")
    turn = await said(
        file(tmp_path / "camp.xlsx"),
        "total nights",
        "how many pitches have electric btw, its on the other sheet",
    )
    assert "Number of rows: 2." in turn.text, (turn.questions, turn.choices)
    turn = await Conversation().say("pitches sheet in excel", file(tmp_path / "camp.xlsx"))
    assert turn.questions
    assert not turn.started  # of all sheets


SALON = """day,client,stylist,treatment,price,status
2025-01-03,Ann,Kev,Cut,30,done
2025-01-09,Bo,Moira,cut,32,no show
2025-05-22,Cy,Kev,Perm,70,done
2025-05-23,Di,Moira,Cut,34,cancelled
2025-05-24,Ann,Moira,Perm,72,done
"""


async def test_without_two_values_and_then_as_a_workbook(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("average price by treatment", csv_file(tmp_path, SALON))
    turn = await talk.say("without the cancelled and the no shows")
    assert "- Perm: 71\n- Cut: 30\n" in turn.text
    (job,) = (await talk.say("lovely. can i have that in excel as well")).started
    assert len(frame(job).queries[0].filters) == 2


async def test_who_took_the_most_of_that_is_of_the_same_rows(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("total price of done ones in may", csv_file(tmp_path, SALON))
    turn = await talk.say("who took the most of that")
    assert turn.questions
    assert "top 1: total Price by Stylist" in " ".join(turn.choices)
    talk = Conversation()
    await talk.say("total price of done ones in may", csv_file(tmp_path, SALON))
    turn = await talk.say("which stylist took the most of that")
    assert "Moira: 72" in turn.text


async def test_what_is_asked_after_two_answers_is_of_both(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("total price may versus january, roughly", csv_file(tmp_path, SALON))
    both = next(one for one in turn.choices if " + " in one)
    await talk.say(both)
    text = (await talk.say("per stylist")).text
    assert text.count("Kev: ") == 2


async def test_a_number_that_a_column_cannot_have_is_of_another(tmp_path: Path) -> None:
    table = "donor,age,hb\n" + "".join(f"D{n % 9},{20 + n},{11 + n % 7}\n" for n in range(60))
    turn = await Conversation().say(
        "which donors over 70 had hb below 13", csv_file(tmp_path, table)
    )
    assert not turn.text or "Age > 70" in turn.text


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("hiya can you crop this to a square and put OPEN DAY 14 JUNE across the top",
         {"text": "OPEN DAY 14 JUNE", "square": True, "top": True}),
        ("crop it square and put Hello World on it", {"text": "Hello World", "square": True}),
        ('Kannst du unten auf das Bild "Markt 14. Juni" schreiben und es auf 600 px verkleinern?',
         {"text": "Markt 14. Juni", "top": False}),
        ("add the words Summer Fair to the picture", {"text": "Summer Fair"}),
    ],
)  # fmt: skip
async def test_words_are_put_on_a_picture(
    tmp_path: Path, text: str, options: dict[str, object]
) -> None:
    turn = await Conversation().say(text, picture(tmp_path, "regatta.png"))
    assert turn.started, (turn.questions, turn.text)
    drawn = frame(turn.started[0]).style.options
    assert {name: drawn[name] for name in options} == options


@pytest.mark.parametrize("text", ["put my logo on it", "put it on it"])
async def test_what_is_no_text_is_not_written_on_a_picture(tmp_path: Path, text: str) -> None:
    assert (await Conversation().say(text, picture(tmp_path, "regatta.png"))).questions
