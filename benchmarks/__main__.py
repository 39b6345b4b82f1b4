from benchmarks import perturbing, timing, tracking

print(timing.cpu())
tracking.main()
perturbing.main()
