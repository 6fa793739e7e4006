"""What runs an author's code: the turn and the job it sees, and the programs of its processes."""
