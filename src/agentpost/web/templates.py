"""The pages as markup. They need no script, and nothing from another server."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agentpost.domain.records import FileRecord, MessageSummary
from agentpost.domain.text import human_size
from agentpost.services.mail import MailQueue
from agentpost.services.overview import Chat, Overview, WorkState, WorkSummary
from agentpost.services.sessions import LOGIN_LINK_SECONDS, SessionSummary
from agentpost.web.markup import Html, join, markup, moment, name

_STYLE: Final = Path(__file__).with_name("style.css").read_text("utf-8")
STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
"""The addresses in the content security policy: the one style sheet that may apply."""

_LAYOUT: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title} · agentpost</title>
<link rel="icon" href="{base}/favicon.ico">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="{base}/dashboard">agentpost</a>{account}</header>
<main id="main">
{main}
</main>
</body>
</html>
"""

_ACCOUNT: Final = """<span class="who">{who}</span>
<form method="post" action="{base}/logout"><button>Log out</button></form>"""

_DASHBOARD: Final = """<h1>Dashboard</h1>
<dl class="facts card">
<div><dt>Account</dt><dd>{who}</dd></div>
<div><dt>Credits</dt><dd>{credits}</dd></div>
<div><dt>Running jobs</dt><dd>{running} of {most}</dd></div>
</dl>
{empty}
<h2>Newest work</h2>
{works}
<h2>Newest messages</h2>
{messages}
<h2>Send a message</h2>
<p>With an API key in <code>AGENTPOST_KEY</code>:</p>
<pre class="card" tabindex="0" aria-label="Example command">curl -s {api}/v1/messages \\
  -H "Authorization: Bearer $AGENTPOST_KEY" \\
  -d '{body}'</pre>
<p>A key is made on the server, and shown there once:</p>
<pre class="card" tabindex="0" aria-label="Command that makes a key">\
agentpost keys create --account {email} --name my-app</pre>
<p class="soft"><a href="{base}/mail">Mail to you</a> ·
<a href="{base}/sessions">Sessions</a> ·
<a href="{api}/openapi.json">API description</a> ·
<a href="{api}/docs/errors">Errors and what to do about them</a></p>"""

_WORK: Final = """<li><a href="{base}/chat/{id}">{title}</a><br>
<span class="soft"><span class="state {kind}">{state}</span> · changed {changed}</span></li>
"""

_MESSAGE: Final = """<li><p class="text" dir="auto">{text}</p>
<p class="text soft" dir="auto">{reply}</p>
<p class="soft"><span class="state {kind}">{state}</span> · sent {sent}</p></li>
"""

_SESSION: Final = """<li>{browser}{here}<br>
<span class="soft">signed in {since} · last used {used}</span></li>
"""

_CHAT: Final = """<p><a href="{base}/dashboard">← All work</a></p>
<h1>{title}</h1>
<p><span class="state {kind}">{state}</span>
<span class="soft"> · started {created} · changed {changed}</span></p>
{now}
{question}
<h2>{heading}</h2>
{text}
<h2>Files</h2>
{files}"""

_FILE: Final = """<li><a href="{base}/chat/{work}/files/{path}">{title}</a><br>
<span class="soft">{kind} · {size}</span></li>
"""


_MAIL: Final = """<li><h2>{subject}</h2>
<p class="soft">To {recipient} · written {written} · {state}</p>
<p class="text" dir="auto">{text}</p></li>
"""


def layout(base: str, title: str, main: Html, *, who: str | None = None) -> bytes:
    """A whole page; ``base`` is the path the app is served under, ``who`` the account signed in."""
    account = Html()
    if who is not None:
        account = markup(_ACCOUNT, who=name(who), base=base)
    # The style sheet goes in as it is: the policy names its hash.
    parts = {"style": Html(_STYLE), "account": account, "main": main}
    return markup(_LAYOUT, base=base, title=title, **parts).encode()


def dashboard(base: str, api: str, view: Overview) -> Html:
    """The account at a glance; ``api`` is the public address of the API."""
    empty = Html()
    if view.credits <= 0:
        empty = markup(
            "<p>There are no credits left, so new work waits. Add some on the server:"
            " <code>agentpost credits add {email} 100</code></p>",
            email=view.email,
        )
    works = join(_work(base, line) for line in view.works)
    return markup(
        _DASHBOARD,
        base=base,
        who=name(view.name),
        email=view.email,
        credits=f"{view.credits:,.2f}".removesuffix(".00"),
        running=view.running,
        most=view.running_max,
        empty=empty,
        works=markup('<ul class="rows card">{rows}</ul>', rows=works)
        if view.works
        else Html("<p>Nothing yet. Work appears here as soon as a message starts some.</p>"),
        messages=_messages(view.messages),
        api=api,
        body='{"message": "What can you do for me?"}',
    )


def chat(base: str, view: Chat) -> Html:
    """A work with its latest result, question and files."""
    work, running = view.work, view.state is WorkState.RUNNING
    steps = join(markup("<p>Now: {step}</p>", step=name(step)) for step in view.steps)
    again = markup('<p><a href="{base}/chat/{id}">Check again</a></p>', base=base, id=work.id)
    question, text, files = Html(), Html(), Html()
    if view.state is WorkState.ASKING:
        question = markup(
            '<section class="card question" aria-label="Question"><p class="text" dir="auto">'
            '{question}</p><p class="soft">Answer with a message in the same conversation.'
            "</p></section>",
            question=work.question,
        )
    if work.text:
        text = markup('<div class="text card" dir="auto">{text}</div>', text=work.text)
    else:
        text = Html("<p>No text yet.</p>" if running else "<p>No text.</p>")
    if view.files:
        rows = join(_file(base, file) for file in view.files)
        files = markup('<ul class="rows card">{rows}</ul>', rows=rows)
    else:
        files = Html("<p>No files yet.</p>" if running else "<p>No files.</p>")
    return markup(
        _CHAT,
        base=base,
        title=name(work.title),
        kind=view.state.name.lower(),
        state=view.state.value,
        created=moment(work.created_at),
        changed=moment(work.updated_at),
        now=join([steps, again]) if running else Html(),
        heading="What went wrong" if view.state is WorkState.FAILED else "Result",
        question=question,
        text=text,
        files=files,
    )


def sessions(base: str, lines: list[SessionSummary]) -> Html:
    """The browsers that are signed in, and the button that ends them all."""
    rows = join(
        markup(
            _SESSION,
            browser=name(line.browser or "Unknown browser"),
            here=" (this one)" if line.is_asking else "",
            since=moment(line.created_at),
            used=moment(line.last_used_at),
        )
        for line in lines
    )
    return markup(
        '<p><a href="{base}/dashboard">← Dashboard</a></p><h1>Sessions</h1>'
        '<ul class="rows card">{rows}</ul>'
        '<form method="post" action="{base}/sessions"><button>Log out everywhere</button></form>'
        '<p class="soft">Ends every session, this one too, and login links that were not used.</p>',
        base=base,
        rows=rows,
    )


def mail_queue(base: str, view: MailQueue, *, sending: bool) -> Html:
    """The mails to the owner of an account; ``sending``: the server has somewhere to send them."""
    unsent = "waits to be sent" if sending else "not sent: this server has no mail server"
    mails = join(
        markup(
            _MAIL,
            subject=name(mail.subject),
            recipient=name(mail.recipient),
            written=moment(mail.created_at),
            state=unsent if mail.sent_at is None else join([Html("sent "), moment(mail.sent_at)]),
            text=mail.text,
        )
        for mail in view.mails
    )
    back = markup('<p><a href="{base}/dashboard">← Dashboard</a></p>', base=base)
    shown = Html("<p>None yet. A message appears here when a webhook endpoint is turned off.</p>")
    if view.mails:
        shown = markup('<ul class="rows card">{mails}</ul>', mails=mails)
    return join([back, Html("<h1>Mail to you</h1>"), shown])


def login(base: str, token: str) -> Html:
    """The one button that spends a login link."""
    return markup(
        "<h1>Sign in</h1><p>This link signs this browser in, once.</p>"
        '<form method="post" action="{base}/login/{token}">'
        '<button class="main" autofocus>Open the dashboard</button></form>',
        base=base,
        token=quote(token, safe=""),
    )


def how_to_sign_in(title: str, text: str) -> Html:
    """The page for visitors who are not signed in."""
    return markup(
        "<h1>{title}</h1><p>{text}</p><p>To get a fresh link, run this on the server:</p>"
        '<pre class="card">agentpost login-link</pre>'
        '<p class="soft">It works once, for {minutes} minutes.</p>',
        title=title,
        text=text,
        minutes=LOGIN_LINK_SECONDS // 60,
    )


def notice(base: str, title: str, text: str) -> Html:
    """A short message with the way back."""
    return markup(
        '<h1>{title}</h1><p>{text}</p><p><a href="{base}/dashboard">To the dashboard</a></p>',
        title=title,
        text=text,
        base=base,
    )


def _messages(lines: list[MessageSummary]) -> Html:
    """Messages of whichever key, with or without work."""
    if not lines:
        return Html("<p>None yet.</p>")
    rows = join(
        markup(
            _MESSAGE,
            text=line.text or "(files only)",
            reply=line.reply or "",
            kind=line.status.value,
            state=_words(line),
            sent=moment(line.created_at),
        )
        for line in lines
    )
    return markup('<ul class="rows card">{rows}</ul>', rows=rows)


def _words(line: MessageSummary) -> str:
    """A message's status and its reason, for people."""
    words = [line.status.value, *([line.reason] if line.reason else [])]
    return ": ".join(words).replace("_", " ")


def _work(base: str, line: WorkSummary) -> Html:
    return markup(
        _WORK,
        base=base,
        id=line.work.id,
        title=name(line.work.title or "Untitled"),
        kind=line.state.name.lower(),
        state=line.state.value,
        changed=moment(line.work.updated_at),
    )


def _file(base: str, file: FileRecord) -> Html:
    return markup(
        _FILE,
        base=base,
        work=file.work_id,
        path=quote(file.path),
        title=name(file.name),
        kind=file.kind,
        size=human_size(file.size),
    )
