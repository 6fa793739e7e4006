"""The agent ``llm:<provider>:<model>``, whose model is a service (docs/llm.md).

Importing this package loads no library; `agent` does, and needs the extra ``llm``.
"""
