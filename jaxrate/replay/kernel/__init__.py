"""The replay in one kernel of a GPU, and estimates of what a GPU takes."""
