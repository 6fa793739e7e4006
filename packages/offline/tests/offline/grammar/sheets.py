"""Tables as people keep them, and their rows in plain Python, from which truths are computed."""

from __future__ import annotations

import datetime as dt
import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
PRODUCTS = {
    "Trail Tent": ("Outdoor", 189.0), "Camp Stove": ("Outdoor", 49.5), "Desk Lamp": ("Home", 35.0),
    "Wool Rug": ("Home", 129.0), "Chess Set": ("Games", 24.9), "Puzzle 1000": ("Games", 17.5),
}  # fmt: skip


class Rows(list[Row]):
    """Rows with the few computations that truths need."""

    def at(self, **kept: Any) -> Rows:
        """The rows whose cells are equal to a value, in a tuple, or fit a function."""
        return Rows(row for row in self if all(_fits(row[k], want) for k, want in kept.items()))

    def val(self, name: str) -> list[Any]:
        """A column's cells that have a value."""
        return [row[name] for row in self if row[name] is not None]

    def sum(self, name: str) -> float:
        """The total of a column."""
        return float(sum(self.val(name)))

    def mean(self, name: str) -> float:
        """The mean of a column."""
        return statistics.fmean(self.val(name))

    def median(self, name: str) -> float:
        """The median of a column."""
        return float(statistics.median(self.val(name)))

    def by(self, key: Any, of: str | Callable[[Rows], float] = len) -> dict[Any, float]:
        """A column's total, or what a function finds, for each group; groups by cell or function.
        Rows without a group are left out."""
        found: dict[Any, Rows] = {}
        for row in self:
            group = key(row) if callable(key) else row[key]
            if group is not None:
                found.setdefault(group, Rows()).append(row)
        return {k: v.sum(of) if isinstance(of, str) else of(v) for k, v in found.items()}


def _fits(cell: Any, want: Any) -> bool:
    if callable(want):
        return bool(want(cell))
    return cell in want if isinstance(want, tuple) else bool(cell == want)


def orders() -> Rows:
    """Two years of orders, each a row."""
    chance = random.Random(11)
    rows = Rows()
    for number in range(320):
        product = chance.choice(list(PRODUCTS))
        category, price = PRODUCTS[product]
        quantity = chance.randint(1, 6)
        day = dt.date(2024, 1, 1) + dt.timedelta(days=chance.randint(0, 729))
        revenue = round(quantity * price * chance.choice([1, 1, 1, 0.9, 0.8]), 2)
        customers = ["Acme Ltd", "Blue Fox", "Corner Shop", "Delta Co", "Evergreen", "Fjord AS"]
        countries = ["Germany", "France", "Spain", "United Kingdom", "Italy"]
        rows.append(
            {
                "order_id": f"SO-{10000 + number}", "d": day, "customer": chance.choice(customers),
                "country": chance.choice(countries), "product": product, "category": category,
                "channel": chance.choice(["web", "phone", "store"]), "quantity": quantity,
                "unit_price": price, "revenue": revenue,
                "cost": round(revenue * chance.uniform(0.45, 0.8), 2),
                "status": chance.choice([*["shipped"] * 3, "pending", "cancelled", "returned"]),
            }
        )  # fmt: skip
    return rows


def staff() -> Rows:
    """People."""
    chance = random.Random(5)
    first = (
        "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines",
        "Jon", "Kira", "Leo", "Mia", "Nils", "Ola", "Pia", "Quinn", "Rosa",
        "Sven", "Tara", "Uma", "Viktor", "Wanda", "Xenia", "Yann", "Zoe",
    )  # fmt: skip
    last = ("Abbott", "Brown", "Costa", "Diaz", "Evans", "Fuchs", "Green", "Horn")
    departments = ["Engineering", "Sales", "Support", "Finance", "Marketing"]
    genders = ["female", "male", "female", "male", "diverse"]
    return Rows(
        {
            "id": 1000 + i, "name": f"{first[i % 26]} {last[(i * 7 + i // 26) % 8]}",
            "dep": chance.choice(departments),
            "office": chance.choice(["Berlin", "Lisbon", "Oslo", "Remote"]),
            "gender": chance.choice(genders), "age": chance.randint(21, 64),
            "d": dt.date(2012, 1, 1) + dt.timedelta(days=chance.randint(0, 4900)),
            "salary": chance.randrange(32000, 118000, 500),
            "rating": round(chance.uniform(2, 5), 1), "vac": chance.randint(0, 30),
        }
        for i in range(96)
    )  # fmt: skip


def traffic() -> Rows:
    """Visits of half a year by day and source."""
    chance = random.Random(3)
    rows = Rows()
    sources = {"organic": 2.0, "paid": 1.2, "social": 0.7, "email": 0.4}
    for number in range(181):
        day = dt.date(2025, 7, 1) + dt.timedelta(days=number)
        for source, size in sources.items():
            visits = int(chance.uniform(200, 900) * (0.6 if day.weekday() > 4 else 1) * size)
            rows.append(
                {
                    "d": day, "source": source, "visits": visits,
                    "device": chance.choice(["mobile", "desktop", "tablet"]),
                    "pageviews": int(visits * chance.uniform(1.5, 4)),
                    "signups": int(visits * chance.uniform(0.005, 0.04)),
                    "bounce": round(chance.uniform(25, 75), 1),
                }
            )  # fmt: skip
    return rows


def stock() -> Rows:
    """Things in three warehouses."""
    chance = random.Random(8)
    stuff = ["Oak", "Pine", "Steel", "Glass", "Linen"]
    kinds = ["chair", "shelf", "table", "mirror", "hook", "box", "bench"]
    return Rows(
        {
            "sku": f"AX-{i + 1:03d}",
            "item": f"{chance.choice(stuff)} {chance.choice(kinds)} {i + 1}",
            "wh": chance.choice(["Rotterdam", "Leeds", "Gdansk"]),
            "supplier": chance.choice(["Norwood", "Tessa GmbH", "Kolb", "Ferro SpA"]),
            "onhand": 0 if i % 13 == 6 else chance.randint(1, 500),
            "reorder": chance.randint(10, 120), "unitcost": round(chance.uniform(2, 90), 2),
            "sold": 0 if i % 9 == 4 else chance.randint(1, 400),
        }
        for i in range(80)
    )  # fmt: skip


def survey() -> Rows:
    """Answers to a few questions; some did not answer the first."""
    chance = random.Random(21)
    return Rows(
        {
            "id": i + 1, "age": chance.choice(["18-29", "30-44", "45-59", "60+"]),
            "city": chance.choice(["Leipzig", "Porto", "Graz", "Gent"]),
            "sat": chance.choice([1, 2, 3, 3, 4, 4, 4, 5, 5, None]),
            "rec": chance.choice(["Yes", "Yes", "No", "Maybe"]), "nps": chance.randint(0, 10),
            "heard": chance.choice(["Friend", "Friend", "Advert", "Newspaper"]),
        }
        for i in range(150)
    )  # fmt: skip


def bank() -> Rows:
    """A German bank statement: amounts have a sign."""
    chance = random.Random(13)
    rows = Rows()
    balance, day = 4210.55, dt.date(2025, 1, 1)
    payees = {
        "Lebensmittel": ["Rewe", "Edeka", "Aldi"], "Freizeit": ["Kino Central", "Spotify"],
        "Versicherung": ["Allianz"], "Mobilität": ["Deutsche Bahn"], "Kleidung": ["Zalando"],
    }  # fmt: skip
    while day.year == 2025:
        what = chance.choice(["Lebensmittel", *payees])
        payee, amount = chance.choice(payees[what]), -round(chance.uniform(4, 240), 2)
        if day.day < 3:
            what, payee, amount = "Gehalt", "Muster AG", 3150.0
        balance = round(balance + amount, 2)
        rows.append({"d": day, "emp": payee, "kat": what, "b": amount, "saldo": balance})
        day += dt.timedelta(days=chance.choice([1, 1, 2]))
    return rows


def renewables() -> Rows:
    """Years, which the file has as columns."""
    chance = random.Random(2)
    rows = Rows()
    for country in ("Norway", "Sweden", "Denmark", "Finland", "Iceland"):
        for source in ("Hydro", "Wind", "Solar"):
            value = chance.uniform(5, 120)
            for year in range(2018, 2025):
                value *= chance.uniform(0.92, 1.2)
                rows.append({"country": country, "src": source, "y": year, "v": round(value, 1)})
    return rows


def grades() -> Rows:
    """Scores of three classes, which are called like numbers with a letter."""
    chance = random.Random(17)
    return Rows(
        {
            "student": f"Pupil {name} {number}", "cls": name, "sub": subject, "term": term,
            "score": chance.randint(28, 100), "absent": chance.choice([0, 0, 0, 1, 2, 5]),
        }
        for name in ("7A", "7B", "8A") for number in range(12)
        for subject in ("Maths", "English", "Biology", "History") for term in ("Autumn", "Spring")
    )  # fmt: skip


def meter() -> Rows:
    """Hours of five weeks, from a Monday to a Sunday."""
    chance = random.Random(4)
    rows = Rows()
    for number in range(24 * 35):
        hour = dt.datetime(2025, 3, 3) + dt.timedelta(hours=number)
        base = 0.3 + (1.1 if 17 <= hour.hour <= 21 else 0) + (0.3 if hour.weekday() > 4 else 0)
        warm = round(6 + 6 * chance.random() + (4 if 10 < hour.hour < 18 else 0), 1)
        rows.append({"d": hour, "kwh": round(base * chance.uniform(0.7, 1.3), 3), "temp": warm})
    return rows


def tickets() -> Rows:
    """Tickets; open ones have no hours, some nobody to work on them."""
    chance = random.Random(33)
    rows = Rows()
    for number in range(260):
        hours, minutes = chance.randint(0, 24 * 270), chance.randint(0, 59)
        status = chance.choice(["closed", "closed", "closed", "open", "waiting"])
        took = round(chance.expovariate(1 / 14) + 0.3, 1)
        rows.append(
            {
                "id": f"T{number + 501}", "status": status,
                "d": dt.datetime(2025, 1, 1, 7) + dt.timedelta(hours=hours, minutes=minutes),
                "prio": chance.choice(["low", "normal", "normal", "high", "urgent"]),
                "topic": chance.choice(["Billing", "Login", "Delivery", "Bug", "Other"]),
                "agent": chance.choice(["Marta", "Noah", "Olu", "Priya", None]),
                "hours": None if status == "open" else took,
                "stars": chance.choice([None, 1, 2, 3, 4, 5, 5, 4]),
            }
        )  # fmt: skip
    return rows


def months() -> Rows:
    """Three years, parted into a year and a month."""
    chance = random.Random(6)
    return Rows(
        {
            "y": year, "m": MONTHS[k], "k": k + 1, "target": 70000.0,
            "sales": round(chance.uniform(40, 99) * 1000, 2),
            "visitors": chance.randint(2000, 9000),
        }
        for year in (2023, 2024, 2025) for k in range(12)
    )  # fmt: skip


def european(value: float) -> str:
    """``-1.234,56``."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def csv(head: str, rows: Rows, cells: Sequence[str | Callable[[Row], object]]) -> str:
    """Rows as a file; the head's delimiter is that of all lines."""
    mark = ";" if ";" in head else ","
    lines = [head]
    for row in rows:
        values = [one(row) if callable(one) else row[one] for one in cells]
        lines.append(mark.join("" if value is None else str(value) for value in values))
    return "\n".join(lines) + "\n"


def _minute(row: Row) -> str:
    return f"{row['d']:%Y-%m-%d %H:%M}"


ORDERS, PEOPLE, WEB, STOCK, SURVEY, BANK = (
    orders(), staff(), traffic(), stock(), survey(), bank(),
)  # fmt: skip
POWER, GRADES, METER, TICKETS, SALES = renewables(), grades(), meter(), tickets(), months()


def _years() -> str:
    keys = list(dict.fromkeys((row["country"], row["src"]) for row in POWER))
    lines = [f"Country,Source,{','.join(map(str, range(2018, 2025)))}"]
    for country, source in keys:
        values = [str(row["v"]) for row in POWER.at(country=country, src=source)]
        lines.append(",".join([country, source, *values]))
    return "\n".join(lines) + "\n"


FILES = {
    "orders.csv": csv(
        "order_id,order_date,customer,country,product,category,channel,quantity,unit_price,revenue"
        ",cost,status",
        ORDERS,
        ("order_id", "d", "customer", "country", "product", "category", "channel", "quantity",
         "unit_price", "revenue", "cost", "status"),
    ),
    "people.csv": csv(
        "Employee ID,Name,Department,Office,Gender,Age,Hire Date,Salary (EUR),Performance rating"
        ",Vacation days left",
        PEOPLE,
        ("id", "name", "dep", "office", "gender", "age", "d", "salary", "rating", "vac"),
    ),
    "web_traffic.csv": csv(
        "date,traffic source,device,visits,page views,signups,bounce rate %", WEB,
        ("d", "source", "device", "visits", "pageviews", "signups", "bounce"),
    ),
    "inventory.csv": csv(
        "SKU,Item,Warehouse,Supplier,Qty on hand,Reorder level,Unit cost,Units sold", STOCK,
        ("sku", "item", "wh", "supplier", "onhand", "reorder", "unitcost", "sold"),
    ),
    "survey.csv": csv(
        "Respondent,Age group,City,Satisfaction,Would you recommend us?,NPS score"
        ",How did you hear about us?", SURVEY,
        ("id", "age", "city", "sat", "rec", "nps", "heard"),
    ),
    "kontoauszug.csv": csv(
        "Buchungstag;Empfänger;Kategorie;Betrag;Saldo", BANK,
        (lambda r: f"{r['d']:%d.%m.%Y}", "emp", "kat", lambda r: european(r["b"]),
         lambda r: european(r["saldo"])),
    ),
    "renewables.csv": _years(),
    "grades.csv": csv(
        "Student,Class,Subject,Term,Score,Absences", GRADES,
        ("student", "cls", "sub", "term", "score", "absent"),
    ),
    "meter.csv": csv("Timestamp,Consumption kWh,Outside temp", METER, (_minute, "kwh", "temp")),
    "tickets.csv": csv(
        "Ticket,Opened,Priority,Status,Topic,Assigned to,Hours to resolve,Stars", TICKETS,
        ("id", _minute, "prio", "status", "topic", "agent", "hours", "stars"),
    ),
    "monthly.csv": csv(
        "Year,Month,Sales €,Target €,Visitors", SALES, ("y", "m", "sales", "target", "visitors")
    ),
}  # fmt: skip
