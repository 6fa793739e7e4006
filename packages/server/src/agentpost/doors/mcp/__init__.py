"""The Model Context Protocol: tools for an assistant that hands work to the agent.

The same tools are served over two transports: by the server itself (`doors.mcp.http`), and by
`agentpost mcp` on the caller's side. What does the work is a `doors.mcp.backend.Backend`.
"""
