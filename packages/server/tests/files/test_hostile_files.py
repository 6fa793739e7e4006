"""File names of every sort on their whole way, and ids that only look like one (spec: getFile)."""

import re
from urllib.parse import quote, unquote

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.raw import head, raw
from tests.e2e.server import KEY

NAMES = (
    "d/a b+c&d=e;f,g.txt",
    "a%2fb%25%00.txt",
    "what?#.txt",
    "'a\"b`.txt",
    "a:b*c|<d>.txt",
    "..a/b../...txt",
    "%2e%2e",
    "e\u0301 \u00e9.txt",
    "\u65e5\u672c \U0001f468\u200d\U0001f469.txt",
    " a ",
    "x" * 200,
    "d/" * 20 + "a",
    "UTF-8''x%41",
    "Ordner/\u00dcber 100% \"x\"; ? # & 'gr\u00f6\u00dfer' \U0001f4c8.txt",
    "events",
    "CON",
)
ACTIVE = "<html><svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg></html>"
NOT_IDS = (
    "{work}",
    "{work}/",
    "{work}/a.txt/",
    "{work}//a.txt",
    "{work}/./a.txt",
    "{work}/../{work}/a.txt",
    "{work}/A.TXT",
    "{work}/a.txt%20",
    "{work}/a.txt%00",
    "{work}/a.txt%00.png",
    "{work}/a.txt%3Fx",
    "{work}/a.txt%0d%0aX: y",
    "{work}%252Fa.txt",
    "{work}/*",
    "{work}/%",
    "{work}/%zz",
    "{work}/%c0%ae",
    "{work}/a.txt;x",
    "%2F{work}/a.txt",
    "wrk_0/a.txt",
    "' OR '1'='1/a.txt",
    "{work}/" + "x" * 5_000,
    "..%2f" * 20,
    *(
        f"{place}{path}"
        for place in ("", "{work}/")
        for path in (
            "../../etc/passwd",
            "%2e%2e/%2e%2e/etc/passwd",
            "%252e%252e%252fetc%252fpasswd",
            "..%2f..%2fagentpost.db",
            "..%5c..%5cagentpost.db",
            "/etc/passwd",
            "a%00b",
            "%ff%fe",
            "%ED%A0%80",
        )
    ),
)


def write(caller: Caller, path: str, text: str, **fields: object) -> Json:
    file: Json = caller.send([["write", path, text], ["reply", "ok"]], **fields)["files"][0]
    return file


@pytest.mark.rule("getFile.path")
@pytest.mark.parametrize("path", NAMES, ids=ascii)
def test_a_name_comes_back_as_it_was_given(caller: Caller, path: str) -> None:
    file = write(caller, path, "hello")
    name = path.rpartition("/")[2]
    assert (file["file_id"], file["name"]) == (f"{file['work_id']}/{path}", name)
    assert re.fullmatch(r"[!-~]+", file["url"])
    assert KEY not in file["url"]

    again = caller.call("GET", f"/v1/files/{quote(file['file_id'])}").json()
    assert {**again, "url": ""} == {**file, "object": "file", "url": ""}

    answer = httpx2.get(file["url"], trust_env=False)
    assert (answer.status_code, answer.text) == (200, "hello")
    disposition = answer.headers["Content-Disposition"]
    shown = re.fullmatch(
        r"(?:inline|attachment); filename=\"[ -~]*\"; filename\*=UTF-8''([!-~]+)", disposition
    )
    assert shown, disposition
    assert unquote(shown[1]) == name
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    ["a.html", "a.xhtml", "a.svg", "a.xml", "a.mhtml", "a.js", "a.txt", "a.png", "a", "a;.html"],
)
def test_markup_is_an_attachment_whatever_its_name(caller: Caller, path: str) -> None:
    answer = httpx2.get(write(caller, path, ACTIVE)["url"], trust_env=False)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", NOT_IDS, ids=ascii)
def test_a_path_that_names_no_file_is_not_found(caller: Caller, path: str) -> None:
    work_id = write(caller, "a.txt", "hello", conversation="ids")["work_id"]
    target = path.format(work=work_id).replace(" ", "%20")
    # By hand: an honest client resolves dots itself.
    answer = raw(caller.server, head("GET", f"/v1/files/{target}"))
    assert (answer.status, answer.body["error"]) == (404, "not_found")
    link = raw(caller.server, head("GET", f"/files/{target}", key=None))
    assert (link.status, link.body["error"]) in ((403, "link_invalid"), (404, "not_found"))


@pytest.mark.parametrize("path", ["%61.txt", "a%2Etxt", "a.txt?x=1"])
def test_an_encoded_letter_is_that_letter(caller: Caller, path: str) -> None:
    work_id = write(caller, "a.txt", "hello", conversation="ids")["work_id"]
    assert caller.call("GET", f"/v1/files/{work_id}/{path}").json()["name"] == "a.txt"


def test_the_host_that_was_called_is_not_believed(caller: Caller) -> None:
    file = write(caller, "a.txt", "hello")
    named = {"Host": "evil.test", "X-Forwarded-Host": "evil.test", "Forwarded": "host=evil.test"}
    answer = caller.http.get(f"/v1/files/{file['file_id']}", headers=named)
    assert answer.status_code == 200
    assert "evil.test" not in answer.text
