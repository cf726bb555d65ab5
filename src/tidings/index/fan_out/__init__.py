"""Who asked for the queries that matched?"""
