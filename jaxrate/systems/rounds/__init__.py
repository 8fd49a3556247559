"""What systems of rounds share: the field of performances, who performed how, teams."""
