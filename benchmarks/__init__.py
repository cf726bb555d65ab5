"""How fast is it, and how do we know? Each benchmark checks that what it compares is equal, then measures ratios."""
