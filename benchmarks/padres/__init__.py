"""The evaluation of [PADRES], in simulated time."""
