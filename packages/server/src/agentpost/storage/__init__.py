"""The file storage: its port, folders and S3 buckets; what kind of file it is."""
