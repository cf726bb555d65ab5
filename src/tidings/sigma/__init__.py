"""What do Sigma's detection rules ask for? Rules of SigmaHQ as subscriptions; needs the extra ``sigma`` (pySigma)."""

from tidings.sigma.rules import SigmaRules, read_rules

__all__ = ["SigmaRules", "read_rules"]
