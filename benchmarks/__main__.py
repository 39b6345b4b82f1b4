from benchmarks import entailment, grounding, page, perturbing, timing, tracking

print(timing.cpu())
tracking.main()
perturbing.main()
entailment.main()
grounding.main()
page.main()
