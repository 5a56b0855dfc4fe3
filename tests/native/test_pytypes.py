"""Native types: callables with exchangeable entries, handles with native slots; lifetime, subclasses, methods."""

import ctypes
import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from jitlang.errors import CodegenError
from jitlang.native import engine, host, pytypes

VECTORCALLS = """
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromSsize_t(i64)
define ptr @seven(ptr %self, ptr %args, i64 %n, ptr %names) {
  %r = call ptr @PyLong_FromLongLong(i64 7)
  ret ptr %r
}
define ptr @count(ptr %self, ptr %args, i64 %n, ptr %names) {
  %m = and i64 %n, 9223372036854775807
  %r = call ptr @PyLong_FromSsize_t(i64 %m)
  ret ptr %r
}
"""


class Function:
    """Made native below."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def describe(self) -> str:
        return f"function {self.name}"

    def __repr__(self) -> str:
        return f"<{self.name}>"


@pytest.fixture(scope="module")
def native() -> tuple[pytypes.CallableType, dict[str, int]]:
    return pytypes.callable_type(Function, words=2), engine.link(engine.compile_ir(VECTORCALLS, level=1), ["seven", "count"])


def test_calls_go_where_the_entry_says(native: tuple[pytypes.CallableType, dict[str, int]]) -> None:
    kind, entries = native
    f = kind.type("f")
    assert kind.entry(f) == 0
    with pytest.raises(TypeError):
        f()
    kind.set_entry(f, entries["seven"])
    assert f() == 7
    kind.set_entry(f, entries["count"])
    assert [f(), f(1, 2), f(1, key=2), f(*range(20))] == [0, 2, 1, 20]
    kind.set_data(f, 12345, 1)
    assert (kind.data(f, 0), kind.data(f, 1)) == (0, 12345)
    with pytest.raises(IndexError):
        kind.data(f, 2)


def test_it_is_an_ordinary_object_otherwise(native: tuple[pytypes.CallableType, dict[str, int]]) -> None:
    kind, _ = native
    f = kind.type("g")
    f.extra = [1]
    assert (f.describe(), repr(f), f.name, f.extra) == ("function g", "<g>", "g", [1])
    assert isinstance(f, Function)
    assert callable(f)
    assert kind.type.__name__ == "Function"
    assert kind.type.__flags__ >> 11 & 1


def test_it_binds_as_a_method(native: tuple[pytypes.CallableType, dict[str, int]]) -> None:
    kind, entries = native
    f = kind.type("method")
    kind.set_entry(f, entries["count"])

    class Holder:
        method = f

    assert Holder().method(1) == 2
    assert Holder.method(1) == 1
    assert Holder.method is f
    bound = Holder().method
    assert bound.__func__ is f
    assert bound() == 1


def test_callables_are_collected(native: tuple[pytypes.CallableType, dict[str, int]]) -> None:
    kind, _ = native
    f = kind.type("cycle")
    f.me = f
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    g = kind.type("plain")
    gone = weakref.ref(g)
    del g
    assert gone() is None


# ---- handles ---------------------------------------------------------------------------------------------------------

THING = """
@cell = external global ptr
@log = external global [4096 x i64]
define ptr @negate(ptr %self) {
  %p = getelementptr i8, ptr %self, i64 OFFSET
  %v = load i64, ptr %p
  %n = sub i64 0, %v
  %t = inttoptr i64 %n to ptr
  %w = load ptr, ptr @cell
  %r = call ptr %w(ptr %t)
  ret ptr %r
}
define void @release(ptr %thing) {
  %n = load i64, ptr @log
  %n1 = add i64 %n, 1
  %m = and i64 %n1, 2047
  store i64 %m, ptr @log
  %p = getelementptr [4096 x i64], ptr @log, i64 0, i64 %n1
  %v = ptrtoint ptr %thing to i64
  store i64 %v, ptr %p
  ret void
}
"""


class Thing:
    """Made native below."""

    __slots__ = ()

    def double(self) -> int:
        return 2 * pointer_of(self)


def pointer_of(thing: object) -> int:
    return ctypes.c_int64.from_address(id(thing) + object.__basicsize__).value


class Handles:
    def __init__(self) -> None:
        # The slot needs `wrap`, which exists after the type: it goes through a cell.
        self.cell, self.log = host.shared_cell("test.pytypes.wrap"), host.shared_cell("test.pytypes.log", 8 << 12)
        code = engine.compile_ir(THING.replace("OFFSET", str(object.__basicsize__)), level=1)
        linked = engine.link(code, ["negate", "release"], {"cell": self.cell, "log": self.log})
        self.kind = pytypes.handle_type(Thing, linked["release"], slots={"nb_negative": linked["negate"]}, name="tests.Thing", free_objects=4)
        ctypes.c_void_p.from_address(self.cell).value = self.kind.wrap
        self.make: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int64)(self.kind.wrap)

    def released(self) -> list[int]:
        """What was released since the last call."""
        count = ctypes.c_int64.from_address(self.log)
        found = list((ctypes.c_int64 * count.value).from_address(self.log + 8))
        count.value = 0
        return found


@pytest.fixture(scope="module")
def handles() -> Iterator[Handles]:
    yield Handles()


def test_handles_hold_and_release(handles: Handles) -> None:
    handles.released()
    a, b = handles.make(5), handles.make(6)
    assert (type(a) is handles.kind.type, isinstance(a, Thing), a.double(), pointer_of(b)) == (True, True, 10, 6)
    assert pointer_of(-a) == -5
    assert handles.released() == [-5]
    del a
    assert handles.released() == [5]
    del b
    assert handles.released() == [6]
    assert type(handles.make(1)).__name__ == "Thing"


def test_reused_objects_are_clean(handles: Handles) -> None:
    seen = []
    for k in range(1, 50):
        objects = [handles.make(k) for _ in range(8)]
        refs = [weakref.ref(o) for o in objects]
        assert [pointer_of(o) for o in objects] == [k] * 8
        seen.append(len({id(o) for o in objects}))
        del objects
        assert [r() for r in refs] == [None] * 8
    assert set(seen) == {8}


def test_handles_cannot_be_made_in_python_nor_get_attributes(handles: Handles) -> None:
    with pytest.raises(TypeError):
        handles.kind.type()
    with pytest.raises(AttributeError):
        handles.make(1).other = 1


def test_type_references_balance(handles: Handles) -> None:
    before = sys.getrefcount(handles.kind.type)
    for _ in range(1000):
        objects = [handles.make(1) for _ in range(10)]
    del objects
    assert abs(sys.getrefcount(handles.kind.type) - before) <= 4  # the objects in reserve


def test_base_with_fields_is_refused() -> None:
    class Wide:
        __slots__ = ("field",)

    with pytest.raises(CodegenError, match="__slots__"):
        pytypes.handle_type(Wide, 1)
    with pytest.raises(KeyError):
        pytypes.native_type(Thing, words=1, slots={"nb_nothing": 1})
    with pytest.raises(CodegenError, match="no function"):
        pytypes.native_type(Thing, words=1, slots={"nb_add": 0})


HOMES = """
define void @release.home(ptr %thing) {
  %p = getelementptr i8, ptr %thing, i64 8
  %n = load i64, ptr %p
  %m = sub i64 %n, 1
  store i64 %m, ptr %p
  ret void
}
"""


class Home(ctypes.Structure):
    """A thing that knows its object, and counts its references."""

    _fields_ = [("object", ctypes.c_void_p), ("references", ctypes.c_int64)]


class Owner:
    """Made native below."""

    __slots__ = ()


def test_a_thing_has_one_object_as_long_as_that_lives() -> None:
    linked = engine.link(engine.compile_ir(HOMES, level=1), ["release.home"])
    kind = pytypes.handle_type(Owner, linked["release.home"], name="tests.Owner", back=0, free_objects=2)
    wrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(kind.wrap)
    things = [Home(None, 0) for _ in range(6)]

    def wrapped(thing: Home) -> Any:
        thing.references += 1
        return wrap(ctypes.addressof(thing))

    for _ in range(3):
        made = [wrapped(t) for t in things]
        assert [wrapped(t) is m for t, m in zip(things, made, strict=True)] == [True] * 6
        assert [t.references for t in things] == [1] * 6
        assert [t.object for t in things] == [id(m) for m in made]
        del made
        assert [(t.object, t.references) for t in things] == [(None, 0)] * 6
    seen: list[Any] = []
    one = wrapped(things[0])
    things[0].references += 1
    watch = weakref.ref(one, lambda _: seen.append(wrap(ctypes.addressof(things[0]))))
    del one
    assert watch() is None
    assert things[0].object == id(seen[0])
    seen.clear()
    assert (things[0].object, things[0].references) == (None, 0)
