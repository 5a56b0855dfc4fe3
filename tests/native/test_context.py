"""Error records become Python exceptions whose tracebacks show the user's lines and nothing else."""

import ctypes
import dataclasses
import gc
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitlang.errors import ArchiveError
from jitlang.native import context, host, tracebacks
from jitlang.native.layouts import (
    ARGUMENT_BOOL,
    ARGUMENT_STR,
    ARGUMENT_TEXT,
    CONTEXT,
    MAX_SITES,
    STR,
    STR_DATA,
    Context,
    StrHead,
    field_index,
    llvm_struct,
    offset,
)
from jitlang.source import Source, SourceRange

TEXT = "def f(x):\n    y = x[7] + 1\n    return y\n\ndef g(x):\n    return f(x) * 2\n"


def chain(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def unit_with_two_sites(unit: int, filename: str) -> None:
    source = Source(TEXT, filename, first_line=10)
    inner = SourceRange(source, 11, 8, 11, 12, "f")
    outer = SourceRange(source, 15, 11, 15, 15, "g")
    tracebacks.register_unit(unit, [inner, outer, dataclasses.replace(inner, caller=outer)])


def raised(*sites: int, unit: int = 77) -> BaseException:
    context.record("IndexError", "index {} is out of bounds for {}", 7, 2.5)
    for site in sites:
        context.push_site(context.current(), unit, site)
    return context.exception_of(context.address())


@pytest.mark.parametrize("sites", [(0, 1), (2,)])
def test_traceback_shows_lines_and_carets(sites: tuple[int, ...]) -> None:
    unit_with_two_sites(77, "nowhere/to_be_found.py")
    shown = "".join(traceback.format_exception(raised(*sites)))
    caret = "~^^^" if sys.version_info >= (3, 13) else "^^^^"
    assert shown == (
        "Traceback (most recent call last):\n"
        '  File "nowhere/to_be_found.py", line 15, in g\n'
        "    return f(x) * 2\n"
        f"           {caret}\n"
        '  File "nowhere/to_be_found.py", line 11, in f\n'
        "    y = x[7] + 1\n"
        "        ~^^^\n"
        "IndexError: index 7 is out of bounds for 2.5\n"
    )


def test_the_interpreter_prints_the_same(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(TEXT)
    program = (
        "from jitlang.native import context, tracebacks\n"
        "from jitlang.source import Source, SourceRange\n"
        f"where = SourceRange(Source({TEXT!r}, {str(file)!r}), 2, 8, 2, 12, 'f')\n"
        "tracebacks.register_unit(1, [where])\n"
        "context.record('ValueError', 'bad', where=(1, 0))\n"
        "raise context.exception_of(context.address())\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f'  File "{file}", line 2, in f\n    y = x[7] + 1\n        ~^^^\nValueError: bad\n' in result.stderr


def test_sites_beyond_the_stack_and_unknown_sites() -> None:
    unit_with_two_sites(78, "deep.py")
    error = raised(*([0] * (MAX_SITES + 20)), unit=78)
    assert len(traceback.extract_tb(error.__traceback__)) == MAX_SITES
    assert raised(0, unit=999_999).__traceback__ is None
    assert raised(50, unit=78).__traceback__ is None
    tracebacks.forget_unit(78)
    assert raised(0, unit=78).__traceback__ is None


def test_class_names() -> None:
    class Mine(Exception):
        pass

    context.register_exception("pkg.Mine", Mine)
    assert context.exception_class("pkg.Mine") is Mine
    assert context.exception_class("ZeroDivisionError") is ZeroDivisionError
    assert context.exception_class("ArchiveError") is ArchiveError
    assert context.exception_class("print") is RuntimeError
    assert context.exception_class("nothing") is RuntimeError


def test_a_class_with_its_own_signature() -> None:
    context.record("UnicodeDecodeError", "no {}", 1)
    error = context.exception_of(context.address())
    assert type(error) is UnicodeDecodeError
    assert error.args == ("no 1",)


def new_str(text: str, kind: int, codec: str) -> int:
    host.process().malloc.restype = ctypes.c_void_p
    data = text.encode(codec)
    pointer = host.process().malloc(ctypes.c_size_t(STR_DATA + len(data)))
    head = StrHead.from_address(pointer)
    head.refcount, head.hash, head.length, head.kind = 1, -1, len(text), kind
    ctypes.memmove(pointer + STR_DATA, data, len(data))
    return int(pointer)


@pytest.mark.parametrize(("text", "kind", "codec"), [("é!", 1, "latin-1"), ("π", 2, "utf-16-le"), ("a😀", 4, "utf-32-le"), ("", 1, "latin-1")])
def test_messages_and_arguments_that_are_strings(text: str, kind: int, codec: str) -> None:
    here = context.current()
    context.record("ValueError", "unused")
    here.error_message = new_str(text, kind, codec)
    error = context.exception_of(context.address())
    assert error.args == (text,)
    assert here.error_message is None

    context.record("KeyError", "")
    here.error_format = None
    here.error_count, here.error_kinds[0], here.error_values[0] = 1, ARGUMENT_STR, new_str(text, kind, codec)
    assert context.exception_of(context.address()).args == (text,)


def test_text_and_bool_arguments() -> None:
    name = ctypes.create_string_buffer("größe".encode())
    context.record("TypeError", "{} is {}", 0, 3)
    here = context.current()
    here.error_kinds[0], here.error_values[0], here.error_kinds[1] = ARGUMENT_TEXT, ctypes.addressof(name), ARGUMENT_BOOL
    assert str(context.exception_of(context.address())) == "größe is True"


def test_a_pending_exception_keeps_its_identity_and_loses_library_frames() -> None:
    unit_with_two_sites(79, "pending.py")
    try:
        context.exception_class(3)  # type: ignore[arg-type]
    except TypeError as error:
        caught = error
    context.push_site(context.current(), 79, 0)
    assert context.exception_of(context.address(), caught) is caught
    assert [Path(f.filename).name for f in traceback.extract_tb(caught.__traceback__)] == ["pending.py", "test_context.py"]


def test_a_frame_without_a_line() -> None:
    def users() -> None:
        raise KeyboardInterrupt

    no_location = bytes([0x80 | 15 << 3 | 7])  # of eight instructions
    users.__code__ = users.__code__.replace(co_linetable=no_location * len(users.__code__.co_code))
    with pytest.raises(KeyboardInterrupt) as caught:
        users()
    shown = tracebacks.attach(caught.value, []).__traceback__
    assert [(f.tb_frame.f_code.co_name, f.tb_lineno) for f in chain(shown)][-1] == ("users", users.__code__.co_firstlineno)


def test_ten_thousand_raises_keep_nothing() -> None:
    unit_with_two_sites(80, "leak.py")
    raised(0, 1, unit=80)
    gc.collect()
    before, frames = len(gc.get_objects()), len(tracebacks._places)
    for _ in range(10_000):
        raised(0, 1, unit=80)
    gc.collect()
    assert len(tracebacks._places) == frames
    assert len(gc.get_objects()) - before < 50


def test_each_thread_has_its_context_and_passes_it_on() -> None:
    mine = context.address()
    seen: list[tuple[int, bool]] = []

    def work() -> None:
        here = context.current()
        seen.append((context.address(), here.stack_low < here.stack_limit < here.stack_high))

    for _ in range(5):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert context.address() == mine
    assert all(good for _, good in seen)
    assert mine not in {a for a, _ in seen}
    assert len({a for a, _ in seen}) == 1


def test_layouts_agree() -> None:
    assert offset(CONTEXT, "interrupt") == 0
    assert field_index(CONTEXT, "flags") == 2
    assert ctypes.sizeof(Context) == offset(CONTEXT, "site_indices") + 8 * MAX_SITES
    assert llvm_struct(STR) == "{ i64, i64, i64, i64 }"
    assert ctypes.sizeof(StrHead) == STR_DATA
