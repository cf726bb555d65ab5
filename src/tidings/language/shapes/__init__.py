"""Which queries of a column differ in their values only? Each shape of them is parsed once."""
