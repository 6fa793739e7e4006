"""The agent card: what other agents learn before they have a key."""

from __future__ import annotations

from a2a.types import a2a_pb2

from agentpost import __version__

PATH = "/a2a"
_SCHEME = "key"


def card(public_url: str, agent_name: str) -> a2a_pb2.AgentCard:
    """The card of the agent at that address."""
    url = f"{public_url}{PATH}"
    bearer = a2a_pb2.HTTPAuthSecurityScheme(
        scheme="bearer", description="An API key of this server."
    )
    any_file = ["text/plain", "application/octet-stream", "*/*"]
    return a2a_pb2.AgentCard(
        name=agent_name or "agentpost",
        description="Takes work in plain language, with files, and carries it out durably: it may"
        " take seconds or days, it can ask, and its results are texts and files.",
        version=__version__,
        documentation_url=f"{public_url}/docs/errors",
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=a2a_pb2.AgentCapabilities(
            streaming=True, push_notifications=False, extended_agent_card=False
        ),
        security_schemes={
            _SCHEME: a2a_pb2.SecurityScheme(http_auth_security_scheme=bearer),
        },
        security_requirements=[
            a2a_pb2.SecurityRequirement(schemes={_SCHEME: a2a_pb2.StringList()})
        ],
        default_input_modes=any_file,
        default_output_modes=any_file,
        skills=[
            a2a_pb2.AgentSkill(
                id="work",
                name="Work",
                description="Whatever the agent can do: send what you want in plain language.",
                tags=["work", "files"],
                examples=["Chart revenue by month from the attached CSV."],
            )
        ],
    )
