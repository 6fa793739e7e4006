"""What a server does by itself: periodic tasks, sweeps, draining, shutting down."""
