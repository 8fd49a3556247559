"""What pictures, pages and commands show, without looks: findings, words and charts.

accuracy.py  how well the predictions of a history were: findings, bins, and what its maker may do
charts.py    what pictures show: texts, rows, lines, matrices, curves
findings.py  what is found in ratings and predictions, and the phrases that tell it on every surface
line_ups.py  sides: who had one, who played with whom and against whom, and who of two won
wording.py   what those who are rated, their ratings, dates and categories are called
"""
