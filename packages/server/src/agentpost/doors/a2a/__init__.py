"""The Agent2Agent protocol: other agents send tasks to this one.

The wire is the SDK's; what it asks for is answered from the messages themselves, so a task is as
durable as the message that it shows.
"""
