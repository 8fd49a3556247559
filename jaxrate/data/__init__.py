"""From the tables that people have to checked events."""
