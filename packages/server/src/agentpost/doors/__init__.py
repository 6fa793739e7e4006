"""The same service in other protocols: a package for each.

A door is loaded when it is first called, so it costs a server that nobody calls through it nothing.
"""
