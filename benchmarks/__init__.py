"""Speed and memory of the main job, measured beside a minimal floor server. See README.md."""
