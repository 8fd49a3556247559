"""A rated history as a site of plain files."""
