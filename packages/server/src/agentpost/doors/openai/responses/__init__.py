"""The part of OpenAI's Responses API that an agent with durable work can keep."""
