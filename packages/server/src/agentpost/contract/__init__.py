"""The public shapes that belong to no subject, the catalogue of errors, and checks of bodies."""
