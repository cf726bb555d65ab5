"""Which queries does one publication match?"""
