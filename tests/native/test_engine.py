"""The engine compiles, links and unloads; other targets; malformed input; threads."""

import ctypes
import gc
import threading
from collections.abc import Callable

import pytest
from llvmlite.binding import ffi

from jitlang.errors import CodegenError
from jitlang.native import engine, host

ADD = """
define i64 @add(i64 %a, i64 %b) {
  %s = add i64 %a, %b
  ret i64 %s
}
"""
AXPY = """
define void @axpy(i64 %n, float %a, ptr noalias %x, ptr noalias %y) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %px = getelementptr float, ptr %x, i64 %i
  %py = getelementptr float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %m = fmul float %vx, %a
  %s = fadd float %m, %vy
  store float %s, ptr %py
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
BINARY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_compile_link_and_call(level: int) -> None:
    address = engine.link(engine.compile_ir(ADD, level=level), ["add"])["add"]
    assert BINARY(address)(40, 2) == 42


def test_level_two_vectorises_and_does_not_contract() -> None:
    text = engine.optimized(AXPY, level=2)
    assert "x float>" in text
    assert "fmuladd" not in text
    assert "fmadd" not in engine.assembly(AXPY, level=2)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("end", [engine.compile_ir, engine.assembly, engine.optimized])
def test_nothing_of_llvm_is_left_to_finalisers(end: Callable[..., object], level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    plain = ffi.ObjectRef.__del__

    def finalise(this: ffi.ObjectRef) -> None:
        if not this.closed and not this._owned and type(this)._dispose is not ffi.ObjectRef._dispose:
            left.append(type(this).__name__)
        plain(this)

    monkeypatch.setattr(ffi.ObjectRef, "__del__", finalise)
    end(ADD.replace("i64 %b)", "i64 %b) alwaysinline"), level=level)
    gc.collect()
    assert not left


def test_always_inline_holds_at_every_level() -> None:
    text = ADD.replace("@add(i64 %a, i64 %b)", "internal i64 @add(i64 %a, i64 %b) alwaysinline").replace("define i64", "define")
    text = text.replace("define internal", "define internal") + "define i64 @f(i64 %a) {\n %r = call i64 @add(i64 %a, i64 1)\n ret i64 %r\n}\n"
    text = text.replace("define internal i64 @add", "define internal i64 @add")
    for level in (0, 1, 2):
        assert "call" not in engine.optimized(text, level=level).split("@f(")[1]


def test_external_symbols_cells_and_callbacks() -> None:
    cell = host.shared_cell("test.engine.cell", 8)
    seen: list[int] = []

    @host.host_function("test_engine_callback", ctypes.c_int64, ctypes.c_int64)
    def callback(value: int) -> int:
        seen.append(value)
        return value * 2

    text = """
    @cell = external global i64
    declare i64 @test_engine_callback(i64)
    declare double @exp(double)
    define double @f(double %x) {
      %v = load i64, ptr @cell
      %r = call i64 @test_engine_callback(i64 %v)
      store i64 %r, ptr @cell
      %e = call double @exp(double %x)
      ret double %e
    }"""
    imports = host.resolve(["test_engine_callback"]) | {"cell": cell}
    ctypes.c_int64.from_address(cell).value = 21
    f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(engine.link(engine.compile_ir(text, level=1), ["f"], imports)["f"])
    assert f(0.0) == 1.0
    assert seen == [21]
    assert ctypes.c_int64.from_address(cell).value == 42


def test_wide_division_links() -> None:
    text = """
    define i64 @f(i64 %a, i64 %b) {
      %x = sext i64 %a to i128
      %w = shl i128 %x, 64
      %y = sext i64 %b to i128
      %q = sdiv i128 %w, %y
      %h = lshr i128 %q, 64
      %r = trunc i128 %h to i64
      ret i64 %r
    }"""
    assert BINARY(engine.link(engine.compile_ir(text, level=1), ["f"])["f"])(84, 2) == 42


def test_two_objects_that_call_each_other() -> None:
    caller = "declare i64 @add(i64, i64)\ndefine i64 @twice(i64 %a, i64 %b) {\n %r = call i64 @add(i64 %a, i64 %a)\n ret i64 %r\n}"
    library = engine.load([engine.compile_ir(ADD, level=0), engine.compile_ir(caller, level=0)], ["twice"])
    assert BINARY(library["twice"])(21, 0) == 42
    library.close()
    assert library.addresses == {}


def test_malformed_ir_is_a_codegen_error() -> None:
    with pytest.raises(CodegenError, match="malformed"):
        engine.compile_ir("define i64 @f() { ret i32 1 }", level=0)
    with pytest.raises(ValueError, match="level"):
        engine.compile_ir(ADD, level=7)


def test_missing_symbols_are_named() -> None:
    with pytest.raises(CodegenError, match="no_such_symbol_anywhere"):
        host.resolve(["malloc", "no_such_symbol_anywhere"])


def test_other_targets() -> None:
    ptx = engine.compile_for(ADD.replace("define i64", "define ptx_kernel void").replace("ret i64 %s", "ret void"), "nvptx64-nvidia-cuda", "sm_80")
    assert b".entry add" in ptx
    assert engine.compile_for(ADD, "aarch64-unknown-linux-gnu")[:4] == b"\x7fELF"
    assert b"add" in engine.compile_for(ADD, "aarch64-unknown-linux-gnu", asm=True)
    with pytest.raises(CodegenError, match="no target"):
        engine.compile_for(ADD, "pdp11-unknown-none")


def test_eight_threads_compile_at_once() -> None:
    results: list[int] = []

    def work(k: int) -> None:
        code = engine.compile_ir(ADD.replace("%a, %b\n", f"%a, {k}\n"), level=2)
        results.append(BINARY(engine.link(code, ["add"])["add"])(1, 0) - k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 8


def test_shared_cell_keeps_its_size() -> None:
    assert host.shared_cell("test.engine.sized", 16) == host.shared_cell("test.engine.sized", 16)
    assert host.shared_cell("test.engine.sized", 16) % 64 == 0
    with pytest.raises(CodegenError, match="16 bytes"):
        host.shared_cell("test.engine.sized", 8)
