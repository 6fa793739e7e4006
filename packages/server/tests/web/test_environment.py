"""Escaping is the rule and markup the exception."""

import pytest
from jinja2 import UndefinedError

from agentpost.web import environment
from agentpost.web.environment import icon, moment, name


def rendered(template: str, **model: object) -> str:
    return environment.make("/app").from_string(template).render(model)


def test_text_is_escaped_and_markup_is_not() -> None:
    text = "<b> & \"quoted\" 'too'"
    safe = "&lt;b&gt; &amp; &#34;quoted&#34; &#39;too&#39;"
    assert rendered('<a title="{{ a }}">{{ a }}</a>', a=text) == f'<a title="{safe}">{safe}</a>'
    assert rendered("<p>{{ a|name }}</p>", a="<i>") == "<p><bdi>&lt;i&gt;</bdi></p>"
    assert rendered("{{ ui.state('done', a) }}", a="<i>").count("<") == 2


def test_filled_in_text_is_no_template() -> None:
    assert rendered("<p>{{ a }}</p>", a="{{ b }} {% c %}") == "<p>{{ b }} {% c %}</p>"


def test_a_missing_value_is_a_fault() -> None:
    with pytest.raises(UndefinedError):
        rendered("<p>{{ a }}</p>")


def test_names_keep_letters_and_lose_tricks() -> None:
    assert name("תרשים a\u0301 📈") == "<bdi>תרשים a\u0301 📈</bdi>"
    mark = "\N{REPLACEMENT CHARACTER}"
    assert name("a\u202eb\u2067\x00\x1b\n\x9b<") == f"<bdi>a{mark}b{mark * 5}&lt;</bdi>"


def test_times_are_to_the_minute() -> None:
    shown = '<time datetime="2027-01-15T08:00:59Z">2027-01-15 08:00 UTC</time>'
    assert moment(1_800_000_059_999_999) == shown


def test_addresses_begin_with_the_path_of_the_app() -> None:
    assert rendered("{{ asset('style.css') }}").startswith("/app/static/")
    assert icon("search").startswith("<svg")
