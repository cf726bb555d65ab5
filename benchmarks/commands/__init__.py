"""The commands of ``python -m benchmarks``, by what they measure. Heavy modules are imported when a command runs."""
