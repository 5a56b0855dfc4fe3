"""The bytecode: one row per instruction, and each row is its own manual.

In: nothing. Out: `OPCODES`, the table from which everything else about instructions expands: the dispatch loop
(`jitlang.interpreter.loop` executes the formulas), the operand lists of the assembler, verifier and disassembler, the
choice of a specialised instruction for an operator (`specialised`), and the reference page (`manual`).

A formula is Python. Its letters:

| letter | meaning |
|---|---|
| ``R`` | the registers of the running function: parameters first, then temporaries, then constants |
| ``A B C`` | the operands; their kinds are listed in front of the formula |
| ``PC`` | the instruction that is executed next; assigning it is a jump |
| ``V X Y`` | scratch; nothing is kept in them from one instruction to the next |
| ``F`` | the running function, ``S`` the stack of suspended callers, ``AT`` the index of the instruction |

| operand kind | meaning |
|---|---|
| ``d`` | register that is written |
| ``s`` | register that is read |
| ``u`` | register that is read, then written |
| ``D`` | registers that are written |
| ``S`` | registers that are read; linked to a function that fetches them from R as a tuple |
| ``P`` | two registers that are read; B or C is the pair of their numbers |
| ``j`` | jump target: an index of an instruction, linked to the instruction |
| ``l`` | the loop whose next iteration begins: its number, linked to its first instruction, in a counting form to a `HotLoop` |
| ``f`` | a Python function: the meaning of an operator |
| ``g`` | a function of the program |
| ``k`` | any Python value |

To add an instruction, add a row. `weight` is its share in typical programs; heavy rows are reached by fewer tests. A row that
`implements` an operator must do what the operator's row does; the tests compare the two.
"""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Opcode:
    """One row.

    Args:
        name: the mnemonic.
        operands: the kinds of A, B, C, separated by spaces.
        formula: what it does, in Python.
        doc: what it is for.
        weight: how often it runs, relative to the others.
        implements: the full names of the operators it stands for.
        branch: the instruction that does this and a JUMP_UNLESS on the result at once.
        counting: the form that counts: iterations, of a loop's back-edge, or calls.
        ends: whether control never goes on to the next instruction.
    """

    name: str
    operands: str
    formula: str
    doc: str
    weight: int = 10
    implements: tuple[str, ...] = ()
    branch: str = ""
    counting: str = ""
    ends: bool = False

    @functools.cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the operands, in order."""
        return tuple(self.operands.split())


_CHECK = "R[A] = V if -536870912 < V < 536870912 else checked(V)"  # small numbers compare fast; `checked` decides exactly


def _rows(kind: str, overloads: str) -> tuple[str, ...]:
    return tuple(f"py::{kind}.{overload}" for overload in overloads.split())


def _arithmetic(name: str, sign: str, weight: int) -> Iterator[Opcode]:
    kind = name.lower()
    doc = f"`{sign}` of ints; OverflowError outside 64 bits"
    yield Opcode(f"{name}_INT", "d s s", f"V = R[B] {sign} R[C]\n{_CHECK}", doc, weight, _rows(kind, "int"))
    also = "float str list" if name == "ADD" else "float"
    yield Opcode(name, "d s s", f"R[A] = R[B] {sign} R[C]", f"`{sign}` that cannot overflow", weight // 2, _rows(kind, also))


def _comparison(name: str, sign: str, weight: int) -> Iterator[Opcode]:
    implements = _rows(name.lower(), "int float int_float float_int bool str")
    yield Opcode(name, "d s s", f"R[A] = R[B] {sign} R[C]", f"`{sign}`", weight // 4, implements, branch=f"UNLESS_{name}")
    yield Opcode(f"UNLESS_{name}", "s s j", f"if not R[A] {sign} R[B]: PC = C", f"branch on `{sign}`", weight)


def _bits(name: str, sign: str) -> Opcode:
    return Opcode(name, "d s s", f"R[A] = R[B] {sign} R[C]", f"`{sign}` of ints or bools", 8, _rows(name.lower(), "int bool"))


_FOR_STEP = "X, Y = B\nY = R[Y]\nV = R[A] + Y\nif (V < R[X]) if Y > 0 else (V > R[X]):\n    R[A] = V\n    PC = {}"
# Ctrl-C may arrive behind any call, `append` or `pop` for one, and at the end of any formula: between a change of S and that of F there is neither, so that a
# traceback has each frame once, and AT is always an instruction of F.
_CALL = """\
if B.native is not None:
    R[A] = B.native(*C(R))
else:
    if len(S) >= DEPTH: too_deep()
    V = [*C(R), *B.rest]
    X = (F, R, A, PC, AT)
    R = V
    F = B
    AT = 0
    PC = B.entry
    S.append(X)"""
_RETURN = """\
if not S: return R[A]
V = R[A]
F, R, A, PC, AT = S[-1]
del S[-1]
R[A] = V"""
_COUNT = "\n{0}C.count -= 1\n{0}if C.count < 0: PC = C.enter(R)"

OPCODES: tuple[Opcode, ...] = (
    Opcode("MOVE", "d s", "R[A] = R[B]", "copies a register", 40),
    Opcode("SWAP", "u u", "R[A], R[B] = R[B], R[A]", "exchanges two registers", 5),
    # jumps
    Opcode("JUMP", "j", "PC = A", "goes on at A; costs nothing, because linking removes it", 1, ends=True),
    Opcode("JUMP_IF", "s j", "if R[A]: PC = B", "branches if true", 15),
    Opcode("JUMP_UNLESS", "s j", "if not R[A]: PC = B", "branches if false", 40),
    *_comparison("LT", "<", 45),
    *_comparison("LE", "<=", 20),
    *_comparison("GT", ">", 20),
    *_comparison("GE", ">=", 18),
    *_comparison("EQ", "==", 40),
    *_comparison("NE", "!=", 28),
    Opcode("IS_NONE", "d s", "R[A] = R[B] is None", "whether an Optional is empty", 5, ("py::is_none",), branch="UNLESS_NONE"),
    Opcode("UNLESS_NONE", "s j", "if R[A] is not None: PC = B", "branches if an Optional holds a value", 8),
    Opcode("NOT", "d s", "R[A] = not R[B]", "`not` of a bool", 8, ("py::not",), branch="JUMP_IF"),
    # loops
    Opcode(
        "FOR_PREPARE", "d S j", "V = range(*B(R))\nif V: R[A] = V.start\nelse: PC = C", "A := start of range(start, stop, step), or leaves an empty loop", 5
    ),
    Opcode(
        "FOR_NEXT",
        "u s l",
        "V = R[A] + 1\nif V < R[B]:\n    R[A] = V\n    PC = C",
        "next iteration of range(…, B) with step 1",
        60,
        counting="FOR_NEXT_COUNTING",
    ),
    Opcode("FOR_NEXT_COUNTING", "u s l", "V = R[A] + 1\nif V < R[B]:\n    R[A] = V\n    PC = C.head" + _COUNT.format("    "), "FOR_NEXT that counts", 70),
    Opcode(
        "FOR_STEP",
        "u P l",
        _FOR_STEP.format("C"),
        "next iteration of range(…, stop, step) with B the registers of stop and step",
        32,
        counting="FOR_STEP_COUNTING",
    ),
    Opcode("FOR_STEP_COUNTING", "u P l", _FOR_STEP.format("C.head") + _COUNT.format("    "), "FOR_STEP that counts", 32),
    Opcode("LOOP", "k k l", "PC = C", "next iteration of a while loop", 1, counting="LOOP_COUNTING", ends=True),
    Opcode("LOOP_COUNTING", "k k l", "PC = C.head" + _COUNT.format(""), "LOOP that counts", 40, ends=True),
    # numbers
    *_arithmetic("ADD", "+", 120),
    *_arithmetic("SUB", "-", 40),
    *_arithmetic("MUL", "*", 60),
    Opcode("TRUEDIV", "d s s", "R[A] = R[B] / R[C]", "`/`; ZeroDivisionError", 10, _rows("truediv", "int float")),
    Opcode("FLOORDIV_INT", "d s s", f"V = R[B] // R[C]\n{_CHECK}", "`//` of ints; ZeroDivisionError, OverflowError", 20, _rows("floordiv", "int")),
    Opcode("FLOORDIV", "d s s", "R[A] = R[B] // R[C]", "`//` of floats; ZeroDivisionError", 5, _rows("floordiv", "float")),
    Opcode("MOD", "d s s", "R[A] = R[B] % R[C]", "`%` of numbers; ZeroDivisionError", 50, _rows("mod", "int float")),
    Opcode("NEG_INT", "d s", f"V = -R[B]\n{_CHECK}", "`-` of an int; OverflowError", 5, _rows("neg", "int")),
    Opcode("NEG", "d s", "R[A] = -R[B]", "`-` of a float", 5, _rows("neg", "float")),
    _bits("AND", "&"),
    _bits("OR", "|"),
    _bits("XOR", "^"),
    Opcode("RSHIFT", "d s s", "R[A] = R[B] >> R[C]", "`>>` of ints; ValueError for a negative count", 8, _rows("rshift", "int")),
    Opcode("FLOAT", "d s", "R[A] = float(R[B])", "int or bool to float", 10, _rows("float", "int bool")),
    # containers and objects
    Opcode("GET_ITEM", "d s s", "R[A] = R[B][R[C]]", "an element; IndexError, KeyError", 150, _rows("getitem", "list str dict")),
    Opcode("SET_ITEM", "s s s", "R[A][R[B]] = R[C]", "changes an element; IndexError", 75, _rows("setitem", "list dict")),
    Opcode("APPEND", "s s", "R[A].append(R[B])", "adds an element to a list", 12, ("py::append",)),
    Opcode("LEN", "d s", "R[A] = len(R[B])", "the number of elements", 15, _rows("len", "list str dict")),
    Opcode("TUPLE", "d S", "R[A] = B(R)", "makes a tuple", 10),
    Opcode("MAKE", "d f S", "R[A] = B(C(R))", "makes a list, dict or set of a tuple of values", 10),
    Opcode("INDEX", "d s k", "R[A] = R[B][C]", "element number C of a tuple", 20),
    Opcode("NEW", "d k", "R[A] = B.__new__(B)", "makes an object without attributes", 3),
    Opcode("GET_ATTRIBUTE", "d s k", "R[A] = getattr(R[B], C)", "reads an attribute; AttributeError", 20),
    Opcode("SET_ATTRIBUTE", "s k s", "setattr(R[A], B, R[C])", "writes an attribute", 8),
    # operators and functions
    Opcode("APPLY_1", "d f s", "R[A] = B(R[C])", "an operator of one argument", 25),
    Opcode("APPLY_2", "d f P", "X, Y = C\nR[A] = B(R[X], R[Y])", "an operator of two arguments", 40),
    Opcode("APPLY", "d f S", "R[A] = B(*C(R))", "any operator", 25),
    Opcode("APPLY_MANY", "D f S", "for X, Y in zip(A, B(*C(R)), strict=True): R[X] = Y", "an operator with several results", 3),
    Opcode("CALL", "d g S", _CALL, "calls a function of the program, as native code where there is some; RecursionError", 20, counting="CALL_COUNTING"),
    Opcode("CALL_COUNTING", "d g S", "B.count -= 1\nif B.count < 0: B.offer()\n" + _CALL, "CALL that counts", 20),
    Opcode("RETURN", "s", _RETURN, "leaves the function", 28, ends=True),
    Opcode("RAISE", "k S", "raise A(*B(R))", "raises an exception of class A with arguments", 2, ends=True),
)

BY_NAME: dict[str, Opcode] = {row.name: row for row in OPCODES}


_SPECIALISED: dict[str, Opcode] = {name: row for row in OPCODES for name in row.implements}


def specialised(operator: str) -> Opcode | None:
    """The instruction made for the operator of that full name (``py::add.int``), or None."""
    return _SPECIALISED.get(operator)


def manual() -> str:
    """The reference page of the bytecode, in Markdown, expanded from the table and from this module's docstring."""
    head = (__doc__ or "").partition("A formula is Python.")
    lines = ["# Bytecode", "", *(head[1] + head[2]).strip().splitlines(), "", "| instruction | operands | formula | meaning |", "|---|---|---|---|"]
    for row in OPCODES:
        formula = "<br>".join(f"`{line}`".replace("|", "\\|") for line in textwrap.dedent(row.formula).splitlines())
        stands = f" For {', '.join(f'`{s}`' for s in row.implements)}." if row.implements else ""
        letters = " ".join(f"{letter}:{kind}" for letter, kind in zip("ABC", row.kinds, strict=False))
        lines.append(f"| {row.name} | {letters} | {formula} | {row.doc}.{stands} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(manual(), end="")
