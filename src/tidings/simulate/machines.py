"""How fast is a broker? Its processor, memory and bandwidth, and what each of them does to a message ([PADRES] 6.1)."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.model import DataError

BASE_MHZ_S = 0.2
"""What a message takes without any subscription: so many seconds on a processor of 1 MHz."""
SUBSCRIPTION_MHZ_S = 0.005
"""What each subscription adds."""
SUBSCRIPTION_BYTES = 1000.0
MESSAGE_BYTES = 250.0
CONTROL_BYTES = 100.0
MB = 1e6
MBPS = 1e6 / 8


@dataclass(frozen=True, slots=True)
class Machine:
    """A row of [PADRES] Table IV or VI: matching is linear in the number of subscriptions, as in the paper's simulator.

    >>> Machine(cpu_mhz=100, memory_mb=16, bandwidth_mbps=0.5).matching_s(2000)
    0.102
    """

    cpu_mhz: float
    memory_mb: float
    bandwidth_mbps: float

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise DataError(f"a broker's {name} is greater than 0, got {getattr(self, name)}")

    def matching_s(self, subscriptions: int) -> float:
        return (BASE_MHZ_S + SUBSCRIPTION_MHZ_S * subscriptions) / self.cpu_mhz

    @property
    def control_s(self) -> float:
        """What a control message takes."""
        return BASE_MHZ_S / self.cpu_mhz

    @property
    def bandwidth_bytes_s(self) -> float:
        return self.bandwidth_mbps * MBPS

    def sending_s(self, size_bytes: float) -> float:
        return size_bytes / self.bandwidth_bytes_s

    def room_bytes(self, subscriptions: int) -> float:
        """What of the memory is left for queues beside so many subscriptions."""
        return self.memory_mb * MB - subscriptions * SUBSCRIPTION_BYTES
