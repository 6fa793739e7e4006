"""Text that can be stored, and numbers for people."""

from agentpost.domain.text import human_credits, human_size, storable


def test_characters_no_database_takes_are_left_out() -> None:
    assert storable("a\0b\ud800c\N{PILE OF POO}") == "ab?c\N{PILE OF POO}"


def test_sizes_are_for_people() -> None:
    sizes = (0, 1, 999, 1000, 12_345, 999_949, 999_950, 5 * 10**6, 999_950_000, 10**13)
    assert [human_size(size) for size in sizes] == [
        "0 bytes",
        "1 byte",
        "999 bytes",
        "1.0 kB",
        "12.3 kB",
        "999.9 kB",
        "1.0 MB",
        "5.0 MB",
        "1.0 GB",
        "10000.0 GB",
    ]


def test_credits_are_for_people() -> None:
    amounts = (0, 1, 1.5, 2, 0.000001, 1_000_000.5)
    assert [human_credits(amount) for amount in amounts] == [
        "0 credits",
        "1 credit",
        "1.5 credits",
        "2 credits",
        "0.000001 credits",
        "1000000.5 credits",
    ]
