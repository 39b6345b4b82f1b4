"""Verdicts against the truth: each metric is a ratio of sums, from (true, accepted) to the part of one unit."""

from __future__ import annotations

from troth.core.metric import Metric

ACCURACY = Metric("accuracy", "Accuracy", "share of verdicts that are right",
                  compute=lambda true, accepted: (float(true == accepted), 1.0))  # fmt: skip
PRECISION = Metric("precision", "Precision", "share of what is accepted that is true",
                   compute=lambda true, accepted: (float(true and accepted), float(accepted)))  # fmt: skip
RECALL = Metric("recall", "Recall", "share of what is true that is accepted",
                compute=lambda true, accepted: (float(true and accepted), float(true)))  # fmt: skip
F1 = Metric("f1", "F1", "harmonic mean of precision and recall",
            compute=lambda true, accepted: (2.0 * (true and accepted), float(true) + accepted))  # fmt: skip
FALSE_ACCEPTS = Metric("false_accepts", "False accepts", "share of what is not true that is accepted", better="lower",
                       compute=lambda true, accepted: (float(accepted and not true), float(not true)))  # fmt: skip
