from benchmarks import entailment, perturbing, timing, tracking

print(timing.cpu())
tracking.main()
perturbing.main()
entailment.main()
