"""How would a system of brokers behave? A world in simulated time: brokers, links, clients, faults, one seed."""
