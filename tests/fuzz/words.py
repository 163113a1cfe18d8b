"""Values that readers trip over: texts, numbers, bytes. Knows no message and no mutation."""

from typing import Any, Final

NUMBERS: Final[tuple[bytes, ...]] = (
    b"0", b"-0", b"1", b"-1", b"1.0", b"-0.0", b"0.1", b"1e2", b"1E+2", b"1e-400", b"1e400", b"-1e400", b"1e308",
    b"9007199254740991", b"9007199254740992", b"-9007199254740992", b"9223372036854775807", b"18446744073709551615",
    b"18446744073709551616", b"340282366920938463463374607431768211456", b"1" + b"0" * 400, b"0." + b"0" * 400 + b"1",
    b"NaN", b"Infinity", b"-Infinity", b"+1", b"01", b".5", b"1.", b"0x10", b"1_000", b"true", b"null", b"1e", b"--1",
)  # fmt: skip
"""Numbers, and what looks like one, as they may stand in JSON text."""

TEXTS: Final[tuple[str, ...]] = (
    "", " ", "a", "A", "-", "0", "\x00", "\n", "\r\n", "\t", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\uffff",
    "\u202e", "e\u0301", "\U0001f600", "\U0010ffff", "x" * 41, "x" * 65, "x" * 201, "x" * 501, "x" * 2049,
    "../../etc/passwd", "/", "//", ".", "a/b", "%s%n", "{0}", "${HOME}", "';--", "<script>", "\x1b[31m", "null",
    "true", "NaN", "2.0", "1e5", "host", "gone", "made", "not_made", "unknown", "pending", "2031-03-04T17:58:12Z",
    "2031-02-30T00:00:00Z", "2031-03-04T17:58:60Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "__proto__",
    "__class__", "self", "call_id", "i-1", "tk-1", "rq-1", "0.000000001", "999999999999.999999999", "USD", "hour",
)  # fmt: skip

VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2, 1.0, 0.5, -0.0, 1e100, 2**31, 2**53 - 1, 2**53, -(2**53), 2**63 - 1, 2**64 - 1,
    10**9, 86_400, [], {}, [[]], [{}], [None], {"": None}, {"a": {}}, *TEXTS,
)  # fmt: skip

PIECES: Final[tuple[bytes, ...]] = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8",
    b"\\ud800", b"\\udc00", b"\\ud83d\\ude00", b"\\u0000", b"\\", b'"', b"{", b"}", b"[", b"]", b",", b":", b" ",
    b"\r", b"\n", b"\r\n", b"\n\n", b"\t", b"//", b"/*", b"'", b"[" * 40, b'{"a":' * 40, b"]" * 40, b"\x1b[2J",
    b'"id":1,', b'"method":"x",', b'"result":{},', b'"error":{},', b'"jsonrpc":"1.0",', b'"instances":[],',
    b'"outcome":"not_made",', b"null", b"{}", b"[]",
)  # fmt: skip

LINES: Final[tuple[bytes, ...]] = (
    b"", b"\r", b"hello", b"[]", b"{}", b"null", b"3", b'""', b"[{}]", b'{"jsonrpc":"2.0"}', b'{"id":1}',
    b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":null,"result":{}}', b'{"jsonrpc":"2.0","id":1,"result":[]}',
    b'{"jsonrpc":"2.0","id":1,"result":null,"error":null}', b'{"jsonrpc":"2.0","id":0,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', b'{"jsonrpc":"2.0","id":"1","result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":7}', b'{"jsonrpc":"2.0","id":1,"error":{}}',
    b'{"jsonrpc":"2.0","id":99,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":null,"data":[]}}', b'{"jsonrpc":"2.0","method":"x"}',
    b'{"jsonrpc":"2.0","id":7,"method":"x"}', b'{"jsonrpc":"2.0","id":7,"method":"x","params":[]}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}', b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}', b'{"jsonrpc":"1.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}', b'{"jsonrpc":"2.0","method":"exit"}',
    b'{"jsonrpc":"2.0","method":"cancel_call","params":{"id":2}}', b'{"jsonrpc":"2.0","method":"cancel_call"}',
    b'{"jsonrpc":"2.0","method":"cancel_call","params":{"id":true}}', b'{"jsonrpc":"2.0","id":7,"method":"shutdown"}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"self":1,"call_id":2,"params":3}}', b"\xef\xbb\xbf{}",
    b'{"jsonrpc":"2.0","method":"changed","params":{"what":["instances","x"],"instances":["i-1"]}}',
    b'{"jsonrpc":"2.0","method":"notice","params":{"items":[{"instance":"i-1","kind":"reclaim"}]}}',
    b'{"jsonrpc":"2.0","method":"progress","params":{"request_id":"rq-1","phase":"x"}}',
    b'{"a":' * 40 + b"1" + b"}" * 40,
    b'{"jsonrpc":"2.0","method":"log","params":{"level":"shout","text":"\\u001b[31m\\u0000"}}', b"[" * 5000,
    b'{"x":"' + b"y" * 3000 + b'"}',
)  # fmt: skip
"""Lines a peer may say at any time: no messages, odd ones, and those of the protocol's edges."""
