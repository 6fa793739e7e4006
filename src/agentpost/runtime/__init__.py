"""Running turns and jobs: their calls are recorded and replayed."""
