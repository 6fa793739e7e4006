"""A migration that somebody may have run never changes.

Databases that were made with the earlier text would keep what it made, at the same revision, and
no later migration could rely on what it finds.
"""

import hashlib

import pytest

from agentpost.db import migrate

FROZEN = {
    "0001_the_first_schema": "45cfbbf25c0dae1c8428a3d89f4fb194b6ea04943970e4ef2781b01858c9e292",
    "0002_webhook_deliveries": "bbcfd16a3e6eec462a4b517da991851794cb00b20405130eaaafbaf49e8acb29",
    "0003_what_an_upload_is": "c0e16d682a87c8c169adfe828b8bbb99946b0b9a337b8186eb76b09f91442f86",
    "0004_request_log": "2f305a80e9e8e74c1e95947a0ad01697953b5e5dc4006edfcf3a4162974fb824",
    "0005_doomed_blobs": "462d636021a6e29e6e48ad247c6ab4a8074d722eac20cf0d72cc804f73195c6f",
    "0006_search_by_what_is_open_or_due": (
        "c1a1966cb56d673a6487c95d306f16beb770597484b1adfa5bb63096fc882ec9"
    ),
    "0007_bounded_request_log": "b5b177bcd4923e3feb9f7d242573fefdb7aa7d6c892b4a5eec481a5f0863ddbd",
    "0008_holds": "155eea64920e1733957f834cf9fe5fa44a6df33592ab4f6b8dbdc9a7f16f5b48",
    "0009_pending_uploads": "4f1703e7370cccb1c5da8ea2b3e60945b07fd6d3c5e65db9509036388c940d2a",
    "0010_call_summaries": "7f4e0f3c10c1ac4bc30762ddfdf75777c7e62a4aac9c13f8bc44388584e1f984",
    "0011_sessions_in_use": "0269a53f0c1a4e3e85be8f1536e8f7ba4cf68d8fb094556cb8a29ef700fcbfc9",
    "0013_attempts": "1d1ef2df0a62b8cc3a5257d07d4f916b2f6e455c792e5077f8dd8542442a3716",
    "0014_account_storage": "d8dfa9159671c2c1a05a69c8da007a74245b9d23328a7d3d6787a1b92361e44f",
    "0015_field_terms": "17fbb2d4d45a300abf5e2f8a1f2a40d9a89442e73b40c82879cb8613be0181f8",
    "0016_key_scopes": "aa1086820c0c9e8e491e244e8f55fc32849ca1ed5ccabc3c4319ebfdb015f8ae",
    "0017_event_readers": "1b1862e6d3d3142ea946f056780045a5fd45b2a717b07af0abf86cda6d2867a4",
    "0018_queued_messages": "fcf0b74d6f9d74035623b2c87452dac17603d09e920e5f65852b0192304b683b",
    "0019_spend_ceilings": "cdbac14b82f38376e920635806325303a8c3be56e15b0e88b3093f38a96b3bdc",
    "0020_users": "c2547fab7b552dd7330b998511cdbbfa264549f94375150606fd6172e6dd28c2",
    "0021_answered_headers": "f2a711e4ed7b1d9a10a06529e687253f4fdaca24afd603adadd82d0321e7bfee",
    "0022_schedules": "a11a8fe546f5bd76a70cad279dc1651c748d806cf8135a5c95329750df79ae79",
    "0023_typed_questions": "9b6c2a6a1c859ee946d33f9c0bfbe8936e7a4d07ed368bec550906a6bab854de",
    "0024_authors": "2111d32d0db481d3bf4137fb8c991ec46cf0077ec0ae79a7c50c95f023580e5e",
    "0025_sent_bodies": "f00d65221192306583db5f754c538e3e445dce0c01d7e05ba93881715cb9037f",
    "0029_agent_lines": "bf1cc427047c3dadfa650053ceeea6dc7dc530b050f09d7bc0acca2fbdbb9dcf",
    "0030_operator_actions": "579efb0b7c1ab8cad22f15d205f085358921e092614e340ac7f61f8c4a076acf",
    "0031_what_a_node_is": "97f6053ec44e45d894a836e4292908b9ff70bc17bf35a7ab2fdd3aa4b9dc3758",
    "0034_packed_bodies": "45fa3d00ee001a09b5cfdbbaf0ee807dcb4181db1684876ec05286999e830b1a",
    "0035_clocks_of_nodes": "1045be940a7466d9075253f2de15656b58c6150dbbb1ba0040d0ea5bb88fd1cf",
    "0036_deaths_of_turns": "27c80aef83675036f426448d93dfbe21101762e23a4e42002e381286e657170e",
    "0037_open_invitations": "4d90c67d1d1cc6ab7be013a7d56a6cd40dc7c48dbfb2ac65eef8b699d0f1d3e6",
    "0038_jobs_that_wait_for_code": (
        "e3c9a19a7129b0817ca7ffb7e62be75560e90cd5e8cf0b7d75a84809c6aabe13"
    ),
    "0039_bodies_of_messages": "46f889c200635f48a4cd739e054da5abfbf8009bda7714db67f2201fc71d82e6",
    "0032_keys_sessions_deletion": (
        "40f5071d54750f9e0b11c4053f1e96147b3e4a96e89e8335c8038c75cf8d869d"
    ),
}
ADVICE = (
    "Was it changed after it was written? Take the change back, and make it in a new migration."
    " Is it new, and in no commit that anybody may have used? Then its line here is {line}"
)


def texts() -> dict[str, bytes]:
    folder = migrate.MIGRATIONS / "versions"
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("[0-9]*.py"))}


@pytest.mark.parametrize("name", texts())
def test_a_migration_is_as_it_was(name: str) -> None:
    digest = hashlib.sha256(texts()[name]).hexdigest()
    assert FROZEN.get(name) == digest, ADVICE.format(line=f'"{name}": "{digest}",')


def test_no_migration_is_gone() -> None:
    assert FROZEN.keys() == texts().keys()
