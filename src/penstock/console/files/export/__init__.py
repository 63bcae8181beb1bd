"""Rows out: the stored rows of a job as a CSV or XLSX file. Nothing is computed again.

``layout`` finds the columns, ``csv_file`` and ``xlsx_file`` write them, ``formulas`` and ``manifest`` say what happens
to cells that a spreadsheet would run or cannot hold.
"""
