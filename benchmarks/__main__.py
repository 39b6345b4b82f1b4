from benchmarks import entailment, page, perturbing, timing, tracking

print(timing.cpu())
tracking.main()
perturbing.main()
entailment.main()
page.main()
