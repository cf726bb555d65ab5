"""Who should give what to whom, and when?"""
