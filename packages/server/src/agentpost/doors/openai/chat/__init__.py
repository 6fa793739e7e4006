"""OpenAI's Chat Completions API, which most front ends and libraries speak."""
