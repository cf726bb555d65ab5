"""The evaluation of [LSM] 7."""
