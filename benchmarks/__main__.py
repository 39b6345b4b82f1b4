from benchmarks import timing, tracking

print(timing.cpu())
tracking.main()
