"""What a rated history says: ratings, careers, predictions and how good they were, and the folders that keep it."""
