"""Understanding a message: clauses, frames, and the columns and files that its words mean."""
