# syntax=docker/dockerfile:1
# The server as an image: docs/deploying.md. Its user is not root, and only /data and /tmp are written
# to, so it runs with a read-only root file system.

# Python 3.11 on Debian 12 is what the tests run with.
FROM docker.io/library/python:3.11-slim-bookworm AS build

COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /usr/local/bin/uv

# The extras of docs/installing.md; "all" brings films and the sandbox too.
ARG EXTRAS="a2a cjk mcp offline oidc postgres redis s3"
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/agentpost \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /build

# Dependencies first: this layer changes with uv.lock only.
COPY pyproject.toml uv.lock ./
COPY clients/python/pyproject.toml clients/python/
COPY packages/agents/pyproject.toml packages/agents/
COPY packages/offline/pyproject.toml packages/offline/
COPY packages/server/pyproject.toml packages/server/
COPY packages/verify/pyproject.toml packages/verify/
RUN --mount=type=cache,target=/root/.cache/uv \
    for extra in $EXTRAS; do set -- "$@" --extra "$extra"; done; \
    uv sync --locked --package agentpost --no-default-groups --no-install-workspace "$@"

COPY . .
RUN --mount=type=cache,target=/root/.cache/uv \
    for extra in $EXTRAS; do set -- "$@" --extra "$extra"; done; \
    uv sync --locked --package agentpost --no-default-groups --no-editable "$@"


FROM docker.io/library/python:3.11-slim-bookworm

# tini ends what an agent's program leaves behind: a process with number 1 has to.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --home-dir /data --no-create-home --shell /usr/sbin/nologin \
      agentpost \
    && install --directory --owner agentpost --group agentpost --mode 0700 /data \
    && install --directory /agent

# pg_dump and pg_restore, which `agentpost backup` and `restore` run. They serve databases of their own
# version and older ones; Debian 12 has those of PostgreSQL 15, so they come from PostgreSQL's
# repository, whose key is in Debian's package. "" leaves them out.
ARG POSTGRES_CLIENT=18
# hadolint ignore=DL3008
RUN if [ -n "$POSTGRES_CLIENT" ]; then \
      apt-get update \
      && apt-get install --yes --no-install-recommends ca-certificates postgresql-common \
      && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
      && apt-get install --yes --no-install-recommends "postgresql-client-$POSTGRES_CLIENT" \
      && rm -rf /var/lib/apt/lists/*; \
    fi

COPY --from=build /opt/agentpost /opt/agentpost

# An agent's modules are looked for in the working folder.
WORKDIR /agent
ENV PATH=/opt/agentpost/bin:$PATH \
    AGENTPOST_DATA_DIR=/data \
    AGENTPOST_HOST=0.0.0.0 \
    AGENTPOST_PORT=8080
# A number, so that Kubernetes sees that it is not root.
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM

# Whether the process answers. Whether its database and files work is /readyz: a balancer asks that,
# because a restart does not repair another server.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --start-interval=2s --retries=3 \
    CMD ["python", "-I", "-c", "import http.client, os, sys; server = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('AGENTPOST_PORT') or 8080), timeout=4); server.request('GET', '/healthz'); sys.exit(server.getresponse().status != 200)"]

ENTRYPOINT ["tini", "--", "agentpost"]
CMD ["serve"]
