"""Systems to measure: trackers to train (`troth.train_tracker`) and to run (`troth.track`).

A recipe says how a tracker is built, trained and run (`troth.systems.recipe`); each has a file of its own, and they
share the data (`data`), the training loop (`training`) and the writing of predictions (`tracker`).
"""
