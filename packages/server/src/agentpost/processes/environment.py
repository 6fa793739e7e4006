"""The environment of worker processes: what is listed, nothing else.

A service's environment holds credentials (`AWS_*`, `PG*`, the server's own settings), and whatever
runs in a worker could print them into a file or a reply.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

ALWAYS: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR"),
    *("PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "DYLD_*"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    *("XDG_*", "FONTCONFIG_*", "MPLCONFIGDIR"),
    *("OMP_*", "OPENBLAS_*", "MKL_*", "NUMEXPR_*", "RAYON_*"),
)
"""What programs need to find themselves, their fonts and certificates, and the user's language.
Not the proxies: their URLs may hold passwords."""

_OWN_PREFIX: Final = "AGENTPOST_"
_THREADS: Final = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    "RAYON_NUM_THREADS",  # of libraries in Rust, such as the typesetter
)


def worker_environment(
    environ: Mapping[str, str], listed: Iterable[str] = (), *, threads: int
) -> dict[str, str]:
    """The variables of ``environ`` that a worker process gets.

    Args:
        listed: names besides `ALWAYS`; ``*`` stands for any characters. A variable of the server
            itself (``AGENTPOST_…``) is passed only when it is named in full.
        threads: how many threads libraries start to compute, unless ``environ`` says it. Each one
            reserves memory at import, and workers run side by side: a call that uses every
            processor takes more of them than the calls of other accounts get.
    """
    patterns = (*ALWAYS, *listed)
    variables = {name: value for name, value in environ.items() if _passes(name, patterns)}
    return {**dict.fromkeys(_THREADS, str(threads)), **variables}


def _passes(name: str, patterns: tuple[str, ...]) -> bool:
    if name.startswith(_OWN_PREFIX):
        return name in patterns
    return any(fnmatchcase(name, pattern) for pattern in patterns)
