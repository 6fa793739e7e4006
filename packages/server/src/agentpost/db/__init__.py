"""The database: its port, SQLite and PostgreSQL, the schema, and rows as records."""
