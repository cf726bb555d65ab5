"""How do brokers run as processes? Those of the simulation over TCP, and a client for applications.

The routing tables and the load balancers are the same objects as in :mod:`tidings.simulate`.
"""

from tidings.broker.client import BrokerClient, RequestRefusedError
from tidings.broker.config import BrokerConfig, Limits, Overlay, read_config
from tidings.broker.feed import Feed
from tidings.broker.frames import FrameError
from tidings.broker.process import serve
from tidings.broker.server import BrokerServer

__all__ = [
    "BrokerClient",
    "BrokerConfig",
    "BrokerServer",
    "Feed",
    "FrameError",
    "Limits",
    "Overlay",
    "RequestRefusedError",
    "read_config",
    "serve",
]
