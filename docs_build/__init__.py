"""Makes the site of the documentation: docs/, pages generated from the program, and formulas. `make docs` builds it."""
