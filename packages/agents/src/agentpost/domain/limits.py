"""Every fixed number of the contract, with its unit in its name (spec: Limits), and its reason
where that is not the specification.

Clients rely on these numbers, so they are constants. What an operator may change (rates, running
jobs, how long something is kept) has its default in `defaults.toml` and nowhere else.
"""

from typing import Final

MEBIBYTE: Final = 2**20

MESSAGE_CHARACTERS_MAX: Final = 20_000
INLINE_FILES_MAX: Final = 5
INLINE_FILE_BYTES_MAX: Final = 10 * MEBIBYTE
INLINE_TOTAL_BYTES_MAX: Final = 25 * MEBIBYTE
UPLOADS_PER_MESSAGE_MAX: Final = 10
UPLOADS_TOTAL_BYTES_MAX: Final = 1024 * MEBIBYTE
UPLOADS_PENDING_MAX: Final = 1_000
"""Unfinished uploads of an account at once."""
UPLOAD_BYTES_MAX: Final = 500 * MEBIBYTE
BLOB_UNRECORDED_SECONDS_MAX: Final = 86_400  # from before its first byte to the commit naming it
FILE_UNLISTED_KEEP_SECONDS: Final = 3_600  # for steps and downloads that still read it
FILE_NAME_CHARACTERS_MAX: Final = 255
CONTENT_TYPE_CHARACTERS_MAX: Final = 255
FILE_PATH_CHARACTERS_MAX: Final = 512
FILE_NAME_BYTES_MAX: Final = 200  # file systems take 255, and parts of names are added to it
FETCH_URL_CHARACTERS_MAX: Final = 8_000  # more than any browser or proxy passes on

# --- bodies, parameters and forms -----------------------------------------------------------------
BODY_VALUES_MAX: Final = 15_000
"""Of one body, all its levels together, lists and objects included. A legal body of many megabytes
consists of text: the same size in small values would need dozens of times as much memory, and the
parser would block everything else meanwhile."""
BODY_NESTING_MAX: Final = 64  # levels; what walks through a body calls itself for each
BODY_REST_BYTES_MAX: Final = 2 * MEBIBYTE
"""Of a large body without its long texts."""
INT_PARAM_MAX: Final = 10**15 - 1
"""The largest number a parameter can have; every JSON reader has it exactly."""
REQUEST_FILTER_CHARACTERS_MAX: Final = 200  # each row that is looked at is compared with the text
MESSAGE_FILTER_CHARACTERS_MAX: Final = 200
POST_FORM_BYTES_MAX: Final = 20 * 1024
"""Of all that comes before the file of a posted form, and again of all that comes after it."""

# --- messages -------------------------------------------------------------------------------------
EMAIL_CHARACTERS_MAX: Final = 254  # RFC 5321: what fits between the brackets of a path
IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 128
REPEAT_SECONDS: Final = 15 * 60
"""A repeat without a key comes within this time after the attempt before it: clients that repeat by
themselves wait for ten minutes at most."""
CONVERSATION_CHARACTERS_MAX: Final = 128
METADATA_ENTRIES_MAX: Final = 16
METADATA_KEY_CHARACTERS_MAX: Final = 64
METADATA_VALUE_CHARACTERS_MAX: Final = 512
TRACEPARENT_CHARACTERS_MAX: Final = 128
TITLE_CHARACTERS_MAX: Final = 200
MAX_CREDITS_MAX: Final = 1_000_000_000  # in millionths every JSON reader has it exactly
AGENT_LINES_MAX: Final = 100
"""Lines that are kept of what a run of a turn or job printed: the first ones. The log has all."""
SAID_CHARACTERS_MAX: Final = 1_000_000  # a reply, a question, a job's result: more is a file

LIST_ITEMS_MAX: Final = 100
"""Of a list in a body of the API or of a call by another protocol, where it is not fewer."""
OBJECT_FIELDS_MAX: Final = 100
"""Of an object that may have fields of the contract only."""
TRANSCRIPT_ITEMS_MAX: Final = 1_000
"""Items or messages of a call of the OpenAI API, which holds all that was said before."""
A2A_TASKS_LOOKED_AT_MAX: Final = 200
"""Of a key's newest messages, which a list of tasks looks at: tasks are put together from them."""
A2A_PAGE_DEFAULT: Final = 50  # the protocol's own
A2A_PAGE_MAX: Final = 100
DOOR_BODY_BYTES_MAX: Final = 16 * MEBIBYTE
"""One file of the size that a message takes inline, in base64, and its text. More comes by uploads
or by URL."""
RPC_CALL_BYTES_MAX: Final = 128 * 1024
"""Of a call without the contents of files: the SDKs read it in one piece on the event loop. A text
of as many characters as a message may have takes 80 kB, in escapes 240."""
RPC_PAGE_BYTES_MAX: Final = 96 * 1024
"""Of a page of messages or tasks, and of the history of a task, which end before they have more:
the SDKs write them in one piece on the event loop. Each has one item, whatever its size."""
RPC_VALUES_MAX: Final = 500
"""Of a call, all its levels together: the SDKs make an object of each on the event loop, which
takes up to 7 microseconds."""
MCP_TEXT_CHARACTERS_MAX: Final = 20_000
"""Of one text in a result; longer ones are cut, for an assistant has to read them."""
MCP_FILE_BYTES_MAX: Final = 4 * MEBIBYTE
"""Of a file that is given out as a resource; a larger one is downloaded by its link."""
MCP_WAIT_SECONDS_MAX: Final = 300  # assistants give a tool up after some minutes
OPENAI_FILES_LIST_MAX: Final = 1_000  # of one page, which is read at once
STREAMS_OF_ONE_MAX: Final = 50
"""Event streams of one message, or of all events of an account, at once in a process."""

CHOICES_MAX: Final = 50
CHOICE_CHARACTERS_MAX: Final = 200
SCHEMA_BYTES_MAX: Final = 16_384
SCHEMA_DEPTH_MAX: Final = 32
SCHEMA_PARTS_MAX: Final = 5_000  # each reference counted as what it names
RECURSION_DEPTH_MAX: Final = 100  # of a value that is compared with a schema in itself
OUTPUTS_INVALID_MAX: Final = 1  # one may be mended; the next ends the turn or job

WAIT_SECONDS_MAX: Final = 45
EVENTS_WAIT_SECONDS_MIN: Final = 1
EVENTS_PAGE_ENTRIES: Final = 100
STREAM_KEEP_ALIVE_SECONDS: Final = 15
STREAM_RETRY_MILLISECONDS: Final = 1_000
WORK_LIST_DEFAULT: Final = 20
MESSAGE_LIST_DEFAULT: Final = 20
MESSAGE_LIST_MAX: Final = 50
WORK_LIST_MAX: Final = 50
WORK_FILES_MAX: Final = 8
WORK_TEXT_PAGE_CHARACTERS: Final = 20_000
WORK_PREVIEW_CHARACTERS: Final = 200
PROBLEMS_MAX: Final = 10

AGENT_BUSY_RETRY_SECONDS: Final = 15
ACCOUNT_LIMIT_RETRY_SECONDS: Final = 60
LARGE_BODIES_REFUSED_PER_MINUTE: Final = 10  # of an account; reading them is work, too
RECOVER_REQUESTS_MAX: Final = 3

HISTORY_ENTRIES: Final = 50
WORKS_SHOWN: Final = 20
INBOX_WAIT_SECONDS_MAX: Final = 60

WEBHOOK_ENDPOINTS_MAX: Final = 10
WEBHOOK_URL_CHARACTERS_MAX: Final = 2_000
WEBHOOK_DESCRIPTION_CHARACTERS_MAX: Final = 120
WEBHOOK_RECENT_DELIVERIES: Final = 20
WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX: Final = 8
WEBHOOK_ATTEMPTS_KEPT: Final = 25
"""Of a delivery, the newest; the schedule makes about 20 until its message goes."""
WEBHOOK_ATTEMPT_RESPONSE_CHARACTERS_MAX: Final = 500
WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX: Final = 1_000
WEBHOOK_RETRY_SPREAD: Final = 0.05
"""By what part a retry may come earlier or later than the schedule says."""
WEBHOOK_GRACE_SECONDS_MAX: Final = 7 * 86_400
DELIVERIES_PAGE_DEFAULT: Final = 20
DELIVERIES_PAGE_MAX: Final = 100
SCHEDULES_PAGE_DEFAULT: Final = 50
SCHEDULES_PAGE_MAX: Final = 100
CRON_CHARACTERS_MAX: Final = 200
SCHEDULE_YEARS_AHEAD_MAX: Final = 10  # a mistyped year is noticed
USAGE_DAYS_DEFAULT: Final = 30
USAGE_DAYS_MAX: Final = 92  # a quarter: each day is summed up for the answer
USAGE_PAGE_DEFAULT: Final = 50
USAGE_PAGE_MAX: Final = 100
REQUESTS_PAGE_DEFAULT: Final = 20
REQUESTS_PAGE_MAX: Final = 100

SIGNED_IN_KNOWN_SECONDS: Final = 180 * 86_400
"""How long it is known that a user has signed in from an address, or in a browser."""
MAIL_KEPT_SECONDS: Final = 90 * 86_400
REQUEST_BODY_KEPT_CHARACTERS_MAX: Final = 32_768
"""Of a body in the request log, without its secrets; what is longer is cut to exactly that."""
REQUEST_BODY_READ_BYTES_MAX: Final = 65_536  # of a body that is looked at for it
REQUEST_PATH_KEPT_CHARACTERS_MAX: Final = 500

# --- keys and people ------------------------------------------------------------------------------
KEY_NETWORKS_MAX: Final = 50  # compared with the address of each call
PASSWORD_CHARACTERS_MIN: Final = 10
PASSWORD_BYTES_MAX: Final = 1_024  # hashing takes all of it
