"""What pages show of Office files, archives and PDF files, made in processes of their own."""
