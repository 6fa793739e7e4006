"""Is this file a program a machine would run as it is? Told by content; the name decides nothing.

Programs are ELF, DOS and Windows (MZ, NE, LE, PE) and Mach-O (thin and fat). Scripts, source code,
Java classes and archives are data. design: Executables; spec: completeUpload.checks,
createMessage 4.
"""

import struct

HEAD_BYTES = 4_096

_ELF = b"\x7fELF"
_MACH_O = frozenset(
    bytes.fromhex(magic) for magic in ("feedface", "feedfacf", "cefaedfe", "cffaedfe")
)
# Fat Mach-O by magic: 32 and 64 bit, in the standard big-endian order and swapped.
_FAT_MACH_O = {
    bytes.fromhex("cafebabe"): ">I",
    bytes.fromhex("cafebabf"): ">I",
    bytes.fromhex("bebafeca"): "<I",
    bytes.fromhex("bfbafeca"): "<I",
}
# A Java class shares the first magic; there the next word holds the class version, at least 45.
_OLDEST_CLASS_VERSION = 45
_DOS_MAGICS = (b"MZ", b"ZM")
_DOS_HEADER = struct.Struct("<2x4H")  # bytes in last page, pages, relocations, header size
_DOS_HEADER_BYTES = 28
_PAGE_BYTES = 512
_PARAGRAPH_BYTES = 16
_LFANEW_AT = 0x3C


def is_executable(head: bytes, size: int) -> bool:
    """True for a program. ``head`` is the file's first `HEAD_BYTES` (less when it is shorter), and
    ``size`` that of the whole file."""
    magic = head[:4]
    if magic == _ELF or magic in _MACH_O:
        return True
    if magic in _FAT_MACH_O:
        return _is_fat_mach_o(head, _FAT_MACH_O[magic])
    return magic[:2] in _DOS_MAGICS and (
        _has_second_header(head, size) or _is_plain_dos_program(head)
    )


def _is_fat_mach_o(head: bytes, word: str) -> bool:
    if len(head) < 8:
        return False
    (architectures,) = struct.unpack_from(word, head, 4)
    return 0 < int(architectures) < _OLDEST_CLASS_VERSION


def _has_second_header(head: bytes, size: int) -> bool:
    """A Windows program names the place of its second header. One in the file but beyond the head
    is believed: where a text has these four bytes, they are a number over the size of any file."""
    if len(head) < _LFANEW_AT + 4:
        return False
    at = int.from_bytes(head[_LFANEW_AT : _LFANEW_AT + 4], "little")
    header = head[at : at + 4]
    is_beyond = at + 4 > len(head) and max(at, len(head)) < size
    return is_beyond or header == b"PE\0\0" or header[:2] in (b"NE", b"LE", b"LX")


def _is_plain_dos_program(head: bytes) -> bool:
    """Tell a DOS header from text that happens to begin with "MZ": its numbers must fit together,
    and two letters read as a number are far over the size of a page."""
    if len(head) < _DOS_HEADER_BYTES:
        return False
    last_page, pages, _, header_paragraphs = map(int, _DOS_HEADER.unpack_from(head))
    header_bytes = header_paragraphs * _PARAGRAPH_BYTES
    return last_page < _PAGE_BYTES and 0 < header_bytes <= pages * _PAGE_BYTES
