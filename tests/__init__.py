"""The tests of the whole. Those of a distribution stand beside it, in its folder `tests`, and are
imported as if they stood here: `tests.webhooks` is `packages/server/tests/webhooks`."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
__path__ += [str(path) for path in sorted(_ROOT.glob("*/*/tests"))]
