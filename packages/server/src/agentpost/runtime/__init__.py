"""Run turns and jobs, recording and replaying their calls."""
