"""Which nodes of a hierarchy cover an area, once its leaves are a grid of whole numbers?"""
