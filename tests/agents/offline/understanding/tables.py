"""The tables that the requests are about, as `data` describes them."""

from __future__ import annotations

from agentpost.agents.offline.data.model import Column, Kind, Role, Table


def date(name: str, first: str, last: str, distinct: int = 24) -> Column:
    """A date column."""
    return Column(name, name, Kind.DATE, Role.TIME, distinct=distinct, first=first, last=last)


def amount(name: str, label: str = "", unit: str | None = None) -> Column:
    """A number that may be summed."""
    return Column(name, label or name, Kind.NUMBER, Role.AMOUNT, unit, distinct=400)


def rate(name: str, label: str = "") -> Column:
    """A number that is averaged."""
    return Column(name, label or name, Kind.NUMBER, Role.RATE, distinct=60)


def category(name: str, *values: str) -> Column:
    """A column to group by."""
    return Column(name, name, Kind.TEXT, Role.CATEGORY, distinct=len(values), values=values)


def text(name: str, *values: str) -> Column:
    """Names and the like."""
    return Column(name, name, Kind.TEXT, Role.TEXT, distinct=200, values=values)


def identifier(name: str) -> Column:
    """A number of a thing."""
    return Column(name, name, Kind.TEXT, Role.IDENTIFIER, distinct=600)


def table(name: str, *columns: Column, rows: int = 600) -> Table:
    """A table of a file of the same name."""
    return Table(id=f"{name}#0", file=f"file_{name}", name=name, rows=rows, columns=columns)


TABLES = {
    "sales": table(
        "sales.csv",
        date("month", "2024-01-01", "2025-12-31"),
        category("region", "North", "South", "East", "West"),
        category("channel", "Online", "Retail", "Partner"),
        category("product", "Lamp", "Chair", "Desk", "Sofa"),
        amount("orders", "Orders"),
        amount("revenue", "Revenue", "€"),
        rate("unit_price", "Unit price"),
    ),
    "tickets": table(
        "tickets.csv",
        identifier("ticket_id"),
        date("created", "2025-01-02T08:00:00", "2025-06-30T17:00:00", 900),
        category("status", "open", "closed", "pending"),
        category("priority", "low", "normal", "high"),
        category("agent", "Ana", "Ben", "Chloe"),
        rate("resolution_hours", "Resolution hours"),
        rate("satisfaction", "Satisfaction"),
    ),
    "staff": table(
        "staff.xlsx",
        identifier("employee_id"),
        text("name", "Ada Byron", "Alan Kay"),
        category("department", "Engineering", "Sales", "Support"),
        category("city", "Berlin", "Paris", "Madrid"),
        rate("salary", "Salary"),
        rate("age", "Age"),
        date("start_date", "2010-02-01", "2025-03-01", 180),
    ),
    "umsatz": table(
        "umsatz.csv",
        date("Datum", "2024-01-01", "2025-12-31"),
        category("Filiale", "Berlin", "Hamburg", "München"),
        category("Produkt", "Lampe", "Stuhl", "Tisch"),
        amount("Umsatz", unit="€"),
        amount("Menge"),
        rate("Preis"),
    ),
    "ventas": table(
        "ventas.csv",
        date("fecha", "2024-01-01", "2025-12-31"),
        category("tienda", "Norte", "Sur", "Centro"),
        category("país", "España", "Francia", "Italia"),
        amount("ventas"),
        amount("unidades"),
        rate("margen"),
    ),
    "magasins": table(
        "magasins.csv",
        date("date", "2024-01-01", "2025-12-31"),
        category("magasin", "Paris", "Lyon", "Nice"),
        category("produit", "Lampe", "Chaise", "Table"),
        amount("chiffre_affaires", "Chiffre d'affaires"),
        amount("quantité"),
        rate("prix"),
    ),
    "xiaoshou": table(
        "xiaoshou.csv",
        date("日期", "2024-01-01", "2025-12-31"),
        category("城市", "北京", "上海", "广州"),
        category("产品", "台灯", "椅子", "书桌"),
        amount("销售额"),
        amount("数量"),
        rate("单价"),
    ),
    "mabiat": table(
        "mabiat.csv",
        date("التاريخ", "2024-01-01", "2025-12-31"),
        category("المدينة", "الرياض", "جدة", "دبي"),
        category("المنتج", "مصباح", "كرسي", "مكتب"),
        amount("المبيعات"),
        amount("الكمية"),
        rate("السعر"),
    ),
}
DOCUMENTS = ("notes", "plan", "notizen", "notas", "biji", "mulahazat")
