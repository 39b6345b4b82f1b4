from importlib import import_module

from benchmarks import timing

print(timing.cpu())
# Each is loaded when its turn comes: the peak of a process counts what its parent held when it began.
for name in (
    "tracking",
    "systems",
    "perturbing",
    "entailment",
    "grounding",
    "trackers",
    "generators",
    "page",
    "service",
    "scale",
):
    import_module(f"benchmarks.{name}").main()
