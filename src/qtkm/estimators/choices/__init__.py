"""What a default fit decides by itself, on rows that it holds out.

bands        number of functions of every column
full_rank    prior of the full-rank model, and columns that suit it
held_out     folds, and the models of their rows
mixing       network and full-rank model together
automatic    the search: rank, penalty, and the fit to all rows
"""
