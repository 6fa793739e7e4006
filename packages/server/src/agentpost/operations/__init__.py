"""Operating a server: health, the doctor, metrics, maintenance."""
