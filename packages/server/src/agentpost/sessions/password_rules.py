"""What a password has to be: long enough, and nothing else."""

from agentpost.domain.limits import PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN


def check_password(password: str) -> str:
    """The password; raises `ValueError` saying what to change.

    Any characters count, spaces too. Rules about kinds of characters make passwords worse: people
    meet them with a capital at the start and a digit at the end.
    """
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise ValueError(f"a password has at least {PASSWORD_CHARACTERS_MIN} characters")
    if len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX:
        raise ValueError(f"a password has at most {PASSWORD_BYTES_MAX:,} bytes")
    return password
