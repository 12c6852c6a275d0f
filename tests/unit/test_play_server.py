"""The playground's server: who is answered, what is refused, and how it ends."""

import errno
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from covering import every_value
from damage import changed, changes
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.cli import main
from maxmargin.play.answers import QUESTIONS
from maxmargin.play.examples import example_points
from maxmargin.play.server import LARGEST_BODY, Playground

TASK = {"points": [[0, 0, -1], [2, 0, 1]], "loss": "hinge", "strength": "C", "value": 10}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def playground():
    with Playground() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def ask(playground):
    """Send one request and return status, headers and body."""

    def send(method, path, body=None, headers=(), token=playground.access.token):
        connection = http.client.HTTPConnection("127.0.0.1", playground.access.port, timeout=30)
        try:
            connection.request(method, f"/{token}/{path}", body, dict(headers))
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    return send


def error_in(body):
    return json.loads(body)["error"]


# ---------------------------------------------------------------- what is answered


def test_the_page_and_its_files_come_with_the_right_kinds(ask):
    status, headers, body = ask("GET", "")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"maxmargin" in body
    for name, kind in (("main.js", "text/javascript"), ("play.css", "text/css"), ("pages.css", "text/css")):
        status, headers, body = ask("GET", name)
        assert (status, headers.get_content_type()) == (200, kind)
        assert body


def test_nothing_may_be_loaded_from_elsewhere(ask):
    _, headers, _ = ask("GET", "")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_head_has_no_body(ask):
    status, headers, body = ask("HEAD", "")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


def test_a_question_is_answered(ask):
    status, _, body = ask("POST", "fit", json.dumps(TASK), JSON)
    assert status == 200
    assert json.loads(body)["theta"] == pytest.approx([1, 0])


def test_several_questions_share_a_connection(playground):
    connection = http.client.HTTPConnection("127.0.0.1", playground.access.port, timeout=30)
    for _ in range(3):
        connection.request("POST", f"/{playground.access.token}/fit", json.dumps(TASK), JSON)
        assert json.loads(connection.getresponse().read())["training_errors"] == 0
    connection.close()


def test_questions_at_the_same_time_get_their_own_answers(ask):
    def margin(C):
        body = json.dumps({**TASK, "points": example_points("overlapping")["points"], "value": C})
        return json.loads(ask("POST", "fit", body, JSON)[2])["margin"]

    strengths = [0.01, 0.1, 1.0, 10.0] * 6
    alone = {C: margin(C) for C in set(strengths)}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(margin, strengths)) == [alone[C] for C in strengths]


# ---------------------------------------------------------------- what is refused


@every_value(
    token=["wrong", "", "%C3%A9"], **{"method, path": [("GET", ""), ("GET", "main.js"), ("POST", "fit")]}
)
def test_without_the_token_nothing_is_answered(ask, method, path, token):
    status, _, body = ask(method, path, "{}" if method == "POST" else None, JSON, token=token)
    assert status == 403
    assert "token" in error_in(body)


def test_each_run_has_its_own_token(playground):
    with Playground() as other:
        assert other.access.token != playground.access.token
        assert len(other.access.token) >= 32
        assert other.access.token not in repr(other.access)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_host_is_refused(ask, playground, host):
    headers = {"Host": host.format(port=playground.access.port)}
    status, _, body = ask("GET", "", headers=headers)
    assert status == 403
    assert "127.0.0.1" in error_in(body)


def test_another_page_is_refused_and_the_own_one_is_not(ask, playground):
    own = f"http://127.0.0.1:{playground.access.port}"
    for origin, expected in (("https://evil.example", 403), ("null", 403), (own, 200)):
        assert ask("POST", "fit", json.dumps(TASK), {**JSON, "Origin": origin})[0] == expected


@pytest.mark.parametrize(
    "path", ["../server.py", "..%2fserver.py", "assets/main.js", "/etc/passwd", "index.html"]
)
def test_only_listed_files_exist(ask, path):
    assert ask("GET", path)[0] == 404


def test_unknown_questions_are_refused(ask):
    assert ask("POST", "shutdown", "{}", JSON)[0] == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ('{"points": [[NaN, 0, 1]]}', "NaN"),
        ("[" * 100_000, "nested|not JSON"),
        (json.dumps({**TASK, "loss": "none"}), "loss must be one of"),
        (json.dumps({**TASK, "value": 10**400}), "value must be"),
        (json.dumps({**TASK, "points": [[1, 2, 3]]}), "points"),
    ],
)
def test_invalid_questions_get_a_clear_answer(ask, body, words):
    status, _, reply = ask("POST", "fit", body, JSON)
    assert status == 400
    assert any(word in error_in(reply) for word in words.split("|"))


def test_other_kinds_of_content_are_refused(ask):
    status, _, body = ask("POST", "fit", json.dumps(TASK), {"Content-Type": "text/plain"})
    assert status == 400
    assert "application/json" in error_in(body)


@pytest.mark.parametrize("length", [str(LARGEST_BODY + 1), "-1", "many", "9" * 5000])
def test_a_huge_or_strange_length_is_refused_unread(ask, length):
    status, headers, body = ask("POST", "fit", "{}", {**JSON, "Content-Length": length})
    assert status == 400
    assert "Content-Length" in error_in(body)
    assert headers["Connection"] == "close"


def test_other_methods_are_refused(ask):
    assert ask("DELETE", "")[0] == 501


def test_a_browser_that_hangs_up_is_no_news(playground, capfd, monkeypatch):
    ended = queue.SimpleQueue()
    finish = playground.process_request_thread
    monkeypatch.setattr(
        playground, "process_request_thread", lambda *given: (finish(*given), ended.put(given))
    )
    for sent in (b"", b"GET / HT", b"POST /x HTTP/1.1\r\nContent-Length: 50\r\n\r\nhalf"):
        with socket.create_connection(("127.0.0.1", playground.access.port)) as connection:
            connection.sendall(sent)
        ended.get(timeout=60)  # what the server has to say about it has been said
    assert capfd.readouterr().err == ""


# ---------------------------------------------------------------- many at once


def test_hundreds_of_connections_at_once_are_all_answered():
    """All are there before the first is taken; each gets its answer, none is reset."""
    with Playground() as server, ExitStack() as opened:
        connections = []
        for _ in range(200):  # nobody takes any yet
            connection = http.client.HTTPConnection("127.0.0.1", server.access.port, timeout=60)
            opened.callback(connection.close)
            connection.request("POST", f"/{server.access.token}/fit", json.dumps(TASK), JSON)
            connections.append(connection)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        assert [connection.getresponse().status for connection in connections] == [200] * 200
        server.shutdown()
        thread.join()


FEW_DESCRIPTORS = """
    import resource, sys, threading, time
    from maxmargin.play import Playground

    class Counted(Playground):
        tried, no_room = 0, threading.Event()

        def get_request(self):
            self.tried += 1
            try:
                return super().get_request()
            except OSError:
                self.no_room.set()
                raise

    with Counted() as server:
        server.pages
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.access.port, server.access.token, flush=True)
        server.no_room.wait()
        began, before = time.monotonic(), server.tried
        time.sleep(0.5)
        print((server.tried - before) / (time.monotonic() - began), flush=True)
        sys.stdin.readline()
        server.shutdown()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of descriptors")
def test_it_waits_where_descriptors_have_run_out_and_goes_on_after():
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(FEW_DESCRIPTORS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port, token = child.stdout.readline().split()
        with ExitStack() as opened:
            for _ in range(60):
                opened.enter_context(socket.create_connection(("127.0.0.1", int(port))))
            # Tries a second: where it does not wait, there are many thousands.
            assert float(child.stdout.readline()) < 100
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        connection.request("POST", f"/{token}/fit", json.dumps(TASK), JSON)
        assert connection.getresponse().status == 200
        connection.close()
        child.communicate("end\n", timeout=60)
        assert child.returncode == 0
    finally:
        child.kill()
        child.communicate()


def test_learners_that_cannot_be_loaded_beforehand_are_no_news(monkeypatch):
    def fail():
        raise OSError(errno.EMFILE, "Too many open files")

    with Playground() as server:
        monkeypatch.setattr("maxmargin.play.server.load_learners", fail)
        server._prepare()  # as its thread does


STATE = {
    **TASK,
    "format": "maxmargin playground",
    "version": 1,
    "name": "separable",
    "hand": {"theta": [1, 2], "theta0": 0},
    "steps": {"method": "pegasos", "rule": "η = 1/t", "count": 5, "seed": 0, "at": 0},
    "view": {"left": 0, "right": 1, "bottom": 0, "top": 1},
    "names": ["a", "b"],
}


@pytest.mark.fuzz
@given(st.sampled_from(sorted(QUESTIONS)), changes)
def test_any_values_get_an_answer_or_a_sentence(ask, question, chosen):
    body = json.dumps(changed(STATE, chosen))
    status, _, reply = ask("POST", question, body, JSON)
    assert status in (200, 400)
    assert status == 200 or 0 < len(error_in(reply)) < 500


# ---------------------------------------------------------------- the command


def test_ctrl_c_ends_it_well():
    command = [sys.executable, "-m", "maxmargin", "play", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[-1]
        host, token = address.removeprefix("http://").rstrip("/").split("/")
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("POST", f"/{token}/fit", json.dumps(TASK), JSON)
        assert connection.getresponse().status == 200
        os.kill(process.pid, signal.SIGINT)  # the connection is still open
        out, err = process.communicate(timeout=60)
        connection.close()
    assert (process.returncode, err) == (0, "")
    assert out.endswith("playground closed\n")


def test_a_port_that_is_taken_is_told(playground, capsys):
    port = playground.access.port
    assert main(["play", "--no-browser", "--port", str(port)]) == 2
    assert f"maxmargin: error: --port {port} cannot be used: " in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_does_not_exist_is_refused(capsys, port):
    assert main(["play", "--no-browser", f"--port={port}"]) == 2
    assert "--port must be between 0 and 65535" in capsys.readouterr().err


def test_a_system_that_starts_no_thread_is_told_at_once(monkeypatch, capsys):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    assert main(["play", "--no-browser"]) == 2
    assert "error: the system starts no further thread" in capsys.readouterr().err
