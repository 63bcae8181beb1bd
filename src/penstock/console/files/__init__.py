"""Files in, rows out: what a file is, what its rows are, and how they become tasks.

Used by the HTTP service, by the adapters that watch folders and buckets, and by the command line, so that a file means
the same whichever way it came.
"""
