"""The recipe of the embedded entailment model: pairs, training, export, evaluation. `make nli` runs it whole."""
