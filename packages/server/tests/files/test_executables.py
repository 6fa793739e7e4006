"""Programs are told by content, on headers written by hand (design: Executables)."""

import struct

import pytest

from agentpost.files.executable_rules import HEAD_BYTES, is_executable


def dos(magic: bytes = b"MZ", *, lfanew: int = 0, last_page: int = 0x90, pages: int = 3) -> bytes:
    """A DOS header of 64 bytes that names the place of a second one."""
    head = magic + struct.pack("<13H", last_page, pages, 0, 4, 0, 0xFFFF, 0, 0xB8, 0, 0, 0, 0x40, 0)
    return head.ljust(0x3C, b"\0") + struct.pack("<I", lfanew)


def with_second(signature: bytes, at: int, *, last_page: int = 0x90, pages: int = 3) -> bytes:
    return (
        dos(lfanew=at, last_page=last_page, pages=pages).ljust(at, b"\0")
        + signature
        + b"\x4c\x01"
        + bytes(100)
    )


def fat(magic: str, order: str, architectures: int) -> bytes:
    return bytes.fromhex(magic) + struct.pack(order, architectures) + bytes(40)


PROGRAMS = {
    "elf 64 little": b"\x7fELF\x02\x01\x01" + bytes(57),
    "elf 32 big": b"\x7fELF\x01\x02\x01" + bytes(45),
    "elf cut after its magic": b"\x7fELF",
    "pe": with_second(b"PE\0\0", 0x80),
    "pe whose dos header makes no sense": with_second(b"PE\0\0", 0x80, last_page=0xFFFF, pages=0),
    "pe right after the dos header": with_second(b"PE\0\0", 0x40),
    "pe with overlapping headers": b"MZ\0\0PE\0\0" + bytes(0x34) + struct.pack("<I", 4) + bytes(64),
    "ne": with_second(b"NE\x05\x01", 0x80, last_page=0xFFFF),
    "le": with_second(b"LE\0\0", 0x80, last_page=0xFFFF),
    "lx": with_second(b"LX\0\0", 0x80, last_page=0xFFFF),
    "plain dos": dos() + b"\xb4\x4c\xcd\x21",
    "plain dos, other order": dos(b"ZM") + b"\xb4\x4c\xcd\x21",
    "plain dos, small header": b"MZ" + struct.pack("<13H", 5, 1, 0, 2, *[0] * 9) + b"\xcd\x20",
    "mach-o 32 big": bytes.fromhex("feedface") + bytes(24),
    "mach-o 64 big": bytes.fromhex("feedfacf") + bytes(28),
    "mach-o 32 little": bytes.fromhex("cefaedfe") + bytes(24),
    "mach-o 64 little": bytes.fromhex("cffaedfe") + bytes(28),
    "fat mach-o": fat("cafebabe", ">I", 2),
    "fat mach-o 64": fat("cafebabf", ">I", 1),
    "fat mach-o swapped": fat("bebafeca", "<I", 3),
}

DATA = {
    "empty": b"",
    "text": b"hello",
    "script": b"#!/bin/sh\nrm -rf /\n",
    "batch file": b"@echo off\r\n",
    "python": b"import os\n",
    "two letters": b"MZ",
    "text that starts MZ": b"MZ is how a program begins; this sentence does not, and goes on.",
    "long text that starts MZ": b"MZ and so on. " * 400,
    "text that starts ZM": b"ZMQ is a library for sockets. It carries atomic messages across all.",
    "csv that starts MZ": b"MZ,PE,NE\n1,2,3\n" * 20,
    "java class 1.1": bytes.fromhex("cafebabe") + struct.pack(">HH", 3, 45) + bytes(40),
    "java class 21": bytes.fromhex("cafebabe") + struct.pack(">HH", 0, 65) + bytes(40),
    "java preview class": bytes.fromhex("cafebabe") + struct.pack(">HH", 65535, 65) + bytes(40),
    "fat mach-o of nothing": fat("cafebabe", ">I", 0),
    "fat magic alone": bytes.fromhex("cafebabe"),
    "zip": b"PK\x03\x04" + bytes(26),
    "png": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "pdf": b"%PDF-1.7\n",
    "elf magic not at the start": b" \x7fELF\x02\x01\x01" + bytes(57),
    "wasm": b"\0asm\x01\0\0\0",
}


@pytest.mark.parametrize("head", PROGRAMS.values(), ids=PROGRAMS)
def test_program(head: bytes) -> None:
    assert is_executable(head[:HEAD_BYTES], len(head))


@pytest.mark.parametrize("head", DATA.values(), ids=DATA)
def test_data(head: bytes) -> None:
    assert not is_executable(head[:HEAD_BYTES], len(head))


@pytest.mark.parametrize("at", [HEAD_BYTES - 2, HEAD_BYTES, 5_000_000])
def test_second_header_beyond_the_head(at: int) -> None:
    """A head whose own numbers make no DOS program: only the place of the second header tells."""
    head = dos(lfanew=at, last_page=0xFFFF, pages=0).ljust(HEAD_BYTES, b"\0")
    assert is_executable(head, 5_000_004)
    assert not is_executable(head, HEAD_BYTES)


def test_a_long_text_has_no_second_header() -> None:
    head = b"MZ and so on.\n" * 300
    assert not is_executable(head[:HEAD_BYTES], 160_000_000)
