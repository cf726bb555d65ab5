"""Does the evaluation of [PS2] come out alike on other posts?"""
