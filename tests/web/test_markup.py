"""Escaping is the rule and markup the exception."""

import pytest

from agentpost.web.markup import Html, join, markup, moment, name


def test_text_is_escaped_and_markup_is_not() -> None:
    text = "<b> & \"quoted\" 'too'"
    safe = "&lt;b&gt; &amp; &quot;quoted&quot; &#x27;too&#x27;"
    assert markup('<a title="{a}">{a}</a>', a=text) == f'<a title="{safe}">{safe}</a>'
    assert markup("<p>{a}{b}</p>", a=Html("<br>"), b=7) == "<p><br>7</p>"
    assert isinstance(join([Html("<i>"), markup("{a}", a="<")]), Html)


def test_filled_in_text_is_no_template() -> None:
    assert markup("<p>{a}</p>", a="{b} {0} {a.__class__}") == "<p>{b} {0} {a.__class__}</p>"


def test_a_missing_value_is_a_fault() -> None:
    with pytest.raises(KeyError):
        markup("<p>{a}</p>")


def test_names_keep_letters_and_lose_tricks() -> None:
    assert name("תרשים a\u0301 📈") == "<bdi>תרשים a\u0301 📈</bdi>"
    mark = "\N{REPLACEMENT CHARACTER}"
    assert name("a\u202eb\u2067\x00\x1b\n\x9b<") == f"<bdi>a{mark}b{mark * 5}&lt;</bdi>"


def test_times_are_to_the_minute() -> None:
    shown = '<time datetime="2027-01-15T08:00:59Z">2027-01-15 08:00 UTC</time>'
    assert moment(1_800_000_059_999_999) == shown
