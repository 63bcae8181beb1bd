"""Folders, buckets and FTP servers as places where files come from.

``source`` says what a source is, ``guard`` what it may touch, ``folder``, ``s3`` and ``ftp`` speak to it, ``scan`` goes
through it, and ``ledger`` remembers what was seen.
"""
