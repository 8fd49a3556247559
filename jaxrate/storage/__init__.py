"""Folders that keep rated histories: written atomically, checked when read."""
