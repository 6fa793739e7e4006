"""Turns and jobs in agent processes: the author's code there, its calls made and recorded here.

`author.agent_process` is the program of such a process. It has no database, no key and no secret:
each call on a turn or job is a frame to the server, whose `Talk` makes it on the real turn or job
(design: Agent processes).
"""
