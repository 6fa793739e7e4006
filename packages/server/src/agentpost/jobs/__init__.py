"""Jobs, the works they run in, and recovering what they did not report in time."""
