"""Results for people: comparisons, gates, tables, charts, and `troth.report(…)`, which writes them as one page."""

from troth.core.callable import make_callable

make_callable(__name__, "write", "report")
