"""What pictures, pages and commands show, without looks: findings, words and charts.

charts.py    what pictures show: texts, rows, lines, matrices, curves
findings.py  what is found in ratings and predictions, and the phrases that tell it on every surface
wording.py   what those who are rated, their ratings, dates and categories are called
"""
