"""Files: their names, links, previews, archives and scanning."""
