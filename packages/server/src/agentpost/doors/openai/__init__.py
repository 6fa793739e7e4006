"""Parts of the OpenAI API. Each API has a package; what they share stands here."""
