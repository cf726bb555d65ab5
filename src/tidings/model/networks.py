"""Which network does a text write? One of IPv4 or IPv6, by any address in it; an address alone is its own network."""

from __future__ import annotations

import ipaddress
import re

IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_WRITTEN = re.compile(r"[0-9a-fA-F.:]{2,45}(?:/[0-9]{1,3})?")


def network_of(text: str) -> IpNetwork | None:
    """The network that a text writes, an address as the network of itself; None if it writes neither."""
    try:
        return ipaddress.ip_network(text, strict=False) if _WRITTEN.fullmatch(text) else None
    except ValueError:
        return None


def network_text(text: str) -> str | None:
    """The canonical text of a network that is written with its length; None if that is not so.

    >>> network_text("10.1.2.3/8"), network_text("2001:DB8:0::/32"), network_text("10.1.2.3"), network_text("1/2")
    ('10.0.0.0/8', '2001:db8::/32', None, None)
    """
    found = network_of(text) if "/" in text else None
    return None if found is None else str(found)
