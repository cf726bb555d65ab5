"""Which boxes are these publications in?"""
