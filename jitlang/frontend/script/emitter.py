"""The emitter of scripts: every expression and statement of the language.

In: the ``ast`` of a function and the types of its parameters. Out: nodes in its graph. Each kind of expression is a line in a table; what it
means stands in the part of its topic.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jitlang.errors import ScriptAttributeError, ScriptNameError, ScriptSyntaxError
from jitlang.frontend.annotations import fits, parameter_type
from jitlang.frontend.emitter import Left, Maybe, Result, Static, WidenResult
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.calls import Calls
from jitlang.frontend.script.classes import BoundMethod
from jitlang.frontend.script.comprehensions import GeneratorValue
from jitlang.frontend.script.items import IteratorValue, LazyIterable
from jitlang.frontend.script.operators import BINARY
from jitlang.frontend.script.statics import Parts
from jitlang.frontend.script.words import describe, suggestion
from jitlang.ir.graph import Value
from jitlang.ir.kind_rules import MAX_RAISED
from jitlang.registry import overloads
from jitlang.schema import MISSING
from jitlang.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    optional,
)

# What is not in the language: how the message calls it, and what to write instead.
UNSUPPORTED = {
    "Try": ("try", "a script lets exceptions pass to its caller; test before, or catch outside the script"),
    "With": ("with", ""),
    "Global": ("global", "return the value, or keep it in an object"),
    "Nonlocal": ("nonlocal", "return the value, or keep it in a list or an object"),
    "Yield": ("yield", "build a list and return it"),
    "YieldFrom": ("yield", "build a list and return it"),
    "Await": ("await", ""),
    "ClassDef": ("a class in a function", "define the class at module level"),
    "Match": ("match", "use if and elif"),
    "Set": ("a set", "use a list, or a dict: dict.fromkeys(items) has each item once"),
    "SetComp": ("a set", "use a list, or a dict: dict.fromkeys([… for …]) has each item once"),
    "AsyncFunctionDef": ("async", ""),
    "AsyncFor": ("async", ""),
    "AsyncWith": ("async", ""),
}


class ScriptEmitter(Calls):
    """Emits one function of a script."""

    declared_result: Type | None = None

    # ---- expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Result:
        """Emits an expression."""
        return self.expr(node)

    def expr(self, node: ast.expr) -> Result:
        """Emits an expression."""
        emit = self.EXPRESSIONS.get(type(node))
        if emit is None:
            self.unsupported(node)
        with self.at(node):
            return emit(self, node)

    def literal_expression(self, node: ast.Constant) -> Result:
        """A literal."""
        if node.value is Ellipsis:
            return Static(Ellipsis)
        if isinstance(node.value, bytes | complex):
            self.fail(ScriptSyntaxError, f"{type(node.value).__name__} literals are not supported in a script")
        return self.constant(node.value)

    def name_expression(self, node: ast.Name) -> Result:
        """A name: local, of the closure or module, or builtin."""
        found = self.read(node.id)
        if found is not None:
            return found
        if node.id in self.locals:
            self.unbound(node.id)
        held = self.lookup(node.id)
        if held is MISSING:
            self.undefined(node.id)
        return self.static(held)

    def unbound(self, name: str) -> NoReturn:
        """A local name that nothing has defined before this place."""
        self.fail(
            ScriptNameError, f"local variable '{name}' is used before it is assigned", hint=f"'{name}' is local because the function assigns it further down"
        )

    def attribute_expression(self, node: ast.Attribute) -> Result:
        """``a.b``."""
        path = self.path_of(node)
        known = self.known_path(path) if path else None
        if known is not None:
            return known
        found = self.attribute(self.expr(node.value), node.attr)
        self.note_read(path, found)
        return found

    def list_expression(self, node: ast.List) -> Result:
        """``[a, b]``."""
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return self.starred_list(node.elts)
        items = [self.expr(e) for e in node.elts]
        if any(isinstance(i, Static) and self.is_object(i.value) for i in items):
            return Static(Parts(items))
        return self.list_of([self.value(i, describe(e)) for i, e in zip(items, node.elts, strict=True)])

    def tuple_expression(self, node: ast.Tuple) -> Result:
        """``(a, b)``."""
        items: list[Result] = []
        for e in node.elts:
            if isinstance(e, ast.Starred):
                items.extend(self.spread(self.expr(e.value), describe(e.value)))
            else:
                items.append(self.expr(e))
        if any(isinstance(i, Static) and (self.is_object(i.value) or not self.is_run_time(i)) for i in items):
            return Static(Parts(items))
        return self.tuple_of([self.value(i, "an element") for i in items])

    def dict_expression(self, node: ast.Dict) -> Result:
        """``{k: v}``."""
        if any(k is None for k in node.keys):
            made = self.dict_of([])
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    self.op("py::update", made, self.run(value))
                else:
                    name = self.run(key)
                    self.op("py::setitem", made, name, self.run(value))
            return made
        pairs = [(self.expr(k), self.expr(v)) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        if any(isinstance(v, Static) and self.is_object(v.value) for _, v in pairs):
            keys = [self.value(k, "a key") for k, _ in pairs]
            if all(k.is_constant for k in keys):
                return Static({k.constant: v for k, (_, v) in zip(keys, pairs, strict=True)})
        return self.dict_of([(self.value(k, "a key"), self.value(v, "a value")) for k, v in pairs])

    def walrus_expression(self, node: ast.NamedExpr) -> Result:
        """``(x := value)``."""
        value = self.expr(node.value)
        self.bind(node.target.id, value)
        return value

    def lambda_expression(self, node: ast.Lambda) -> Result:
        """A lambda."""
        return Static(self.local_function(node))

    def generator_expression(self, node: ast.GeneratorExp) -> Result:
        """A generator expression, to be consumed where it is passed."""
        return Static(GeneratorValue(node))

    def materialise(self, entry: Static, what: str) -> Value:
        """A Python object as a run-time value."""
        if isinstance(entry.value, GeneratorValue):
            return self.list_comprehension(entry.value.node)
        if isinstance(entry.value, LazyIterable):
            return self.collect(entry.value.iterable)
        if isinstance(entry.value, BoundMethod) and not isinstance(entry.value.value.type, ClassType):
            type, name = entry.value.value.type, entry.value.name
            if name not in (known := self.methods_of(type)):
                self.fail(ScriptAttributeError, f"{type} has no attribute '{name}'", hint=suggestion(name, known))
        return super().materialise(entry, what)

    def static(self, value: Any) -> Result:
        """A Python object: a constant if it is a plain one, else a Static."""
        return value if isinstance(value, Value | Static) else super().static(value)

    EXPRESSIONS: dict[type[ast.expr], Callable[[Any, Any], Result]] = {
        ast.Constant: literal_expression,
        ast.Name: name_expression,
        ast.BinOp: Calls.binary_expression,
        ast.UnaryOp: Calls.unary_expression,
        ast.BoolOp: Calls.bool_expression,
        ast.Compare: Calls.compare_expression,
        ast.IfExp: Calls.ternary,
        ast.Call: Calls.call_expression,
        ast.Attribute: attribute_expression,
        ast.Subscript: Calls.subscript_expression,
        ast.List: list_expression,
        ast.Tuple: tuple_expression,
        ast.Dict: dict_expression,
        ast.ListComp: Calls.list_comprehension,
        ast.DictComp: Calls.dict_comprehension,
        ast.GeneratorExp: generator_expression,
        ast.JoinedStr: Calls.joined_string,
        ast.NamedExpr: walrus_expression,
        ast.Lambda: lambda_expression,
    }

    def bind(self, name: str, value: Result) -> None:
        """As below; an iterator, which would have to remember how far it has come, has no name."""
        if isinstance(value, Static) and isinstance(value.value, IteratorValue | GeneratorValue):
            what = "an iterator" if isinstance(value.value, IteratorValue) else "a generator expression"
            self.type_error(f"{what} cannot be kept in a script", hint=f"{name} = list(…), or loop over it where it stands")
        super().bind(name, value)

    # ---- assignment -------------------------------------------------------------------------------------------------

    def store(self, target: ast.expr, value: Result) -> None:
        """Assigns to an attribute or a subscript."""
        if isinstance(target, ast.Attribute):
            self.set_attribute(self.holder(target), target.attr, value)
            path = self.path_of(target)
            if path and isinstance(value, Value) and not absent(value.type):
                self.note_assigned(path, value)
        elif isinstance(target, ast.Subscript):
            base = self.run(target.value)
            self.set_item(base, self.index(target.slice), value)
        else:
            self.unsupported(target)

    def holder(self, target: ast.Attribute) -> Value:
        """The object whose attribute is assigned; classes and modules are the same for every call of a script, and stay as they are."""
        with self.at(target.value):
            held = self.expr(target.value)
        if isinstance(held, Static) and isinstance(held.value, type | types.ModuleType):
            self.type_error(f"{describe(target)} cannot be assigned in a script", hint="keep it in an object, and pass that along")
        return self.value(held, describe(target.value))

    def note_assigned(self, path: str, value: Value) -> None:
        """After ``self.x = value`` an Optional attribute is known not to be None."""
        name, _, attribute = path.removeprefix("$path:").rpartition(".")
        holder = self.env.get(name)
        if isinstance(holder, Value) and isinstance(holder.type, ClassType):
            declared = holder.type.attributes.get(attribute)
            if isinstance(declared, OptionalType):
                self.note_path(path, self.convert(value, declared.element, "the value"))

    def unpack(self, value: Result, targets: Sequence[ast.expr]) -> list[Result]:
        """The parts of `value` for these targets."""
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        items = self.known_items(value)
        if items is None:
            return self.unpack_list(self.as_list(value), targets, star)
        behind = 0 if star is None else len(targets) - star - 1
        if (star is None and len(items) != len(targets)) or (star is not None and len(items) < len(targets) - 1):
            few = "not enough" if len(items) < len(targets) else "too many"
            self.type_error(f"{few} values to unpack: {len(items)} into {len(targets)} targets")
        if star is None:
            return items
        middle = [self.value(i, "an item") for i in items[star : len(items) - behind]]
        return [*items[:star], self.list_of(middle), *items[len(items) - behind :]]

    def known_items(self, value: Result) -> list[Result] | None:
        """The items of a tuple, or of what else has a length known at compile time."""
        if isinstance(value, Static):
            if isinstance(value.value, Parts):
                return value.value.items
            if isinstance(value.value, tuple | list) and not (isinstance(value.value, list) and self.has_value(value.value)):
                return [self.static(v) for v in value.value]
            if isinstance(value.value, GeneratorValue):
                return self.generator_items(value.value.node)
            iterable = self.iterate_static(value.value, "the value")
            if iterable.unrolled is not None:
                return [iterable.item(self, self.constant(i)) for i in range(len(iterable.unrolled))]
            return None
        if absent(value.type):
            value = self.present(value, "TypeError", "cannot unpack non-iterable NoneType object")
        if isinstance(value.type, TupleType):
            return list(self.parts_of(value))
        if isinstance(value.type, ListType | DictType | TensorType) or value.type == STR:
            return None
        if isinstance(value.type, ClassType):
            parts = self.module_parts(value)
            if parts is not None:
                return [v for _, v in parts]
        self.type_error(f"cannot unpack a value of type {value.type}")

    def generator_items(self, node: ast.GeneratorExp) -> list[Result] | None:
        """The items of a generator expression over a known number of items, None over any other."""
        if len(node.generators) != 1 or node.generators[0].ifs:
            return None
        mark = self.mark()
        iterable = self.iterable(node.generators[0].iter)
        if iterable.unrolled is None:
            self.rewind(mark)
            return None
        from jitlang.frontend.liveness import stores

        out: list[Result] = []
        with self.scoped(stores(node.generators[0].target)):
            for at in range(len(iterable.unrolled)):
                self.assign_item(node.generators[0].target, iterable.item(self, self.constant(at)))
                out.append(self.expr(node.elt))
        return out

    def unpack_list(self, items: Value, targets: Sequence[ast.expr], star: int | None) -> list[Result]:
        """Unpacks a list, whose length is checked at run time."""
        size = self.op("py::len", items)
        wanted = len(targets) - (star is not None)
        if star is None:
            self.unpack_error(size, wanted, exact=True)
            return [self.op("py::getitem", items, self.constant(i)) for i in range(len(targets))]
        self.unpack_error(size, wanted, exact=False)
        behind = len(targets) - star - 1
        bounds = [self.convert(b, OptionalType(INT), "a bound") for b in (self.constant(star), self.constant(-behind) if behind else self.none(), self.none())]
        middle = self.op("py::slice", items, *bounds)
        head = [self.op("py::getitem", items, self.constant(i)) for i in range(star)]
        return [*head, middle, *(self.op("py::getitem", items, self.constant(i - behind)) for i in range(behind))]

    def unpack_error(self, size: Value, wanted: int, *, exact: bool) -> None:
        """ValueError where the number of items does not fit."""
        few = self.op("py::lt", size, self.constant(wanted))

        def too_few() -> None:
            least = "" if exact else "at least "
            got = self.op("py::str", size)
            text = self.concatenate([self.constant(f"not enough values to unpack (expected {least}{wanted}, got "), got, self.constant(")")])
            self.raise_error("ValueError", text)

        self.when(few, too_few)
        if exact:
            many = self.op("py::gt", size, self.constant(wanted))
            self.when(many, lambda: self.raise_error("ValueError", f"too many values to unpack (expected {wanted})"))

    def augmented(self, statement: ast.AugAssign) -> None:
        """``target op= value``: the target's parts are evaluated once."""
        target = statement.target
        symbol = BINARY[type(statement.op)][0]
        if isinstance(target, ast.Name):
            old = self.expr(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            new = self.in_place_value(statement.op, symbol, old, self.expr(statement.value))
            if new is not old:
                self.bind(target.id, new)
        elif isinstance(target, ast.Attribute):
            base = self.holder(target)
            old = self.attribute(base, target.attr)
            new = self.in_place_value(statement.op, symbol, old, self.expr(statement.value))
            if new is not old:
                self.set_attribute(base, target.attr, new)
        else:
            base = self.run(target.value)
            index = self.index(target.slice)
            old = self.get_item(base, index)
            value = self.expr(statement.value)
            new = self.in_place_value(statement.op, symbol, old, value)
            if isinstance(base.type, TensorType) or new is not old:
                self.set_item(base, index, new)

    def in_place_value(self, operator: ast.operator, symbol: str, old: Result, value: Result) -> Result:
        """The value that ``op=`` stores; `old` itself where it was changed in place."""
        if isinstance(old, Static):
            return self.binary(symbol, old, value)
        type = old.type
        if absent(type):
            old = self.present(old, "TypeError", f"unsupported operand type(s) for {symbol}=: 'NoneType' and '{self.value(value, 'the operand').type}'")
            type = old.type
        _, aten, name = BINARY[operator.__class__]
        if isinstance(type, ListType) and symbol == "+":
            self.op("py::iadd", old, self.items(value))
            return old
        if isinstance(type, ListType) and symbol == "*":
            self.op("py::imul", old, value)
            return old
        if isinstance(type, DictType) and symbol == "|":
            self.op("py::update", old, value)
            return old
        if isinstance(type, ClassType) and self.find_method(type, f"__i{name}__") is not None:
            return self.call_method(old, f"__i{name}__", [value], {})
        if isinstance(type, TensorType) and overloads(f"aten::{aten}_"):
            found = self.try_op(f"aten::{aten}_", [old, value])
            if found is not None:
                return old
        return self.binary(symbol, old, value)

    # ---- statements -------------------------------------------------------------------------------------------------

    def other_statement(self, statement: ast.stmt) -> None:
        """The statements that only scripts have."""
        if isinstance(statement, ast.AnnAssign):
            self.annotated_assignment(statement)
        elif isinstance(statement, ast.Assert):
            self.assertion(statement)
        elif isinstance(statement, ast.Raise):
            self.raise_statement(statement)
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.delete(target)
        elif isinstance(statement, ast.FunctionDef):
            if statement.decorator_list:
                self.unsupported(statement.decorator_list[0], "a nested function has no decorators in a script")
            self.bind(statement.name, Static(self.local_function(statement)))
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self.import_statement(statement)
        elif isinstance(statement, ast.With):
            self.with_statement(statement)
        else:
            self.unsupported(statement)

    def unsupported(self, node: ast.AST, hint: str = "", what: str = "") -> NoReturn:
        """Raises the error for Python that is not part of the language."""
        name, instead = UNSUPPORTED.get(type(node).__name__, ("", ""))
        super().unsupported(node, hint or instead, what or name)

    def annotated_assignment(self, statement: ast.AnnAssign) -> None:
        """``x: T = value``."""
        declared = self.local_type(statement.annotation)
        if statement.value is None:
            return
        self.wanted = declared
        try:
            value = self.expr(statement.value)
        finally:
            self.wanted = None
        if declared is not None and not (isinstance(value, Static) and self.is_object(value.value)):
            held = self.value(value, "the value")
            value = self.convert(held, self.refined(held.type, declared), describe(statement.target))
        self.assign(statement.target, value)

    def refined(self, given: Type, declared: Type) -> Type:
        """A declared type with what is known of tensors in the value; an Optional stays one, because the name may change."""
        if isinstance(declared, OptionalType):
            inner = given.element if isinstance(given, OptionalType) else given
            return optional(self.refined(inner, declared.element)) if inner not in (NONE, NEVER) else declared
        if isinstance(declared, TensorType | TupleType) and fits(given, declared):
            return parameter_type(given, declared) if not any(isinstance(t, OptionalType) for t in declared.walk()) else declared
        return declared

    def assertion(self, statement: ast.Assert) -> None:
        """``assert test, message``."""
        cond = self.test(statement.test)

        def fails() -> None:
            self.assume(cond.when_false)
            message = [self.expr(statement.msg)] if statement.msg is not None else []
            self.raise_error("AssertionError", *self.exception_arguments(message, False))

        if isinstance(cond.truth, Static):
            if not cond.truth.value:
                fails()
            else:
                self.assume(cond.when_true)
            return

        def other() -> None:
            try:
                fails()
            except Left:
                return

        self.branch(cond.truth, lambda: self.assume(cond.when_true), other, set(), frozenset(self.env))

    def raise_statement(self, statement: ast.Raise) -> None:
        """``raise cls(message)``."""
        if statement.exc is None:
            self.fail(ScriptSyntaxError, "raise without an exception is possible in an except clause only")
        node = statement.exc
        args: list[Result] = []
        keywords: dict[str, Result] = {}
        if isinstance(node, ast.Call):
            args, keywords = self.arguments(node)
            node = node.func
        held = self.expr(node)
        cls = held.value if isinstance(held, Static) else None
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            self.type_error(f"{describe(node)} is no exception class", hint="raise ValueError('…')")
        init = inspect.getattr_static(cls, "__init__", None)
        own = isinstance(init, types.FunctionType)
        if own:
            args = self.bind_to(self.info(init).parameters[1:], cls.__name__, args, keywords)
        elif keywords:
            self.type_error(f"{cls.__name__} takes no keyword arguments")
        self.raise_error(self.unit.exception_name(cls), *self.exception_arguments(args, own))

    def exception_arguments(self, args: Sequence[Result], own: bool) -> list[Value]:
        """What an exception carries: numbers and texts as they are, anything else as its text; `own` where the class takes them one by one."""
        values = [self.value(a, "an argument") for a in args]
        plain = [v.type in (INT, FLOAT, BOOL, STR) for v in values]
        if len(values) > MAX_RAISED or (len(values) > 1 and not own and not all(plain)):
            return [self.text_of(self.tuple_of(values), "str")]
        return [v if as_is else self.text_of(v, "str") for v, as_is in zip(values, plain, strict=True)]

    def import_statement(self, statement: ast.Import | ast.ImportFrom) -> None:
        """An import inside a function: the module is known when the script is compiled."""
        import importlib

        for alias in statement.names:
            try:
                if isinstance(statement, ast.Import):
                    module = importlib.import_module(alias.name)
                    held: Any = module if alias.asname else importlib.import_module(alias.name.partition(".")[0])
                    self.bind(alias.asname or alias.name.partition(".")[0], Static(held))
                else:
                    source = importlib.import_module(statement.module or "", self.lookup("__package__") or None)
                    self.bind(alias.asname or alias.name, self.static(getattr(source, alias.name)))
            except (ImportError, AttributeError) as error:
                self.fail(ScriptNameError, str(error))

    def with_statement(self, statement: ast.With) -> None:
        """``with`` of contexts that change nothing here (gradients are not recorded), and of objects with ``__enter__`` and ``__exit__``."""
        self.with_items(list(statement.items), statement.body)

    def with_items(self, items: list[ast.withitem], body: list[ast.stmt]) -> None:
        """The first item around the rest."""
        if not items:
            self.body(body)
            return
        item = items[0]
        if self.is_null_context(item.context_expr):
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.none())
            self.with_items(items[1:], body)
            return
        self.unsupported(item.context_expr, "contexts with effects are not supported in a script; write the calls out", "with")

    def is_null_context(self, node: ast.expr) -> bool:
        """Whether a context manager has no effect in a script."""
        if not isinstance(node, ast.Call):
            return False
        held = self.expr(node.func)
        name = getattr(held.value, "__name__", "") if isinstance(held, Static) else ""
        return name in ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "nullcontext", "record_function")

    # ---- results ----------------------------------------------------------------------------------------------------

    def return_value(self, value: Result | None) -> None:
        """``return value``, as the declared type."""
        if len(self.returns) == 1 and self.declared_result is not None and value is not None:
            held = self.value(value, "the returned value")
            wanted = self.result_type(held.type)
            value = self.convert(held, wanted, "the returned value")
        elif value is not None:
            value = self.literal_as_float(self.value(value, "the returned value"))
        super().return_value(value)

    def literal_as_float(self, value: Value) -> Value:
        """A returned literal int as a float, where another ``return`` gives a float."""
        frame = self.returns[-1]
        if frame.type == INT and value.type == FLOAT and not frame.declared:
            raise WidenResult(frame, FLOAT)
        return self.constant(float(value.constant)) if frame.type == FLOAT and value.type == INT and value.is_constant else value

    def result_type(self, given: Type) -> Type:
        """What a returned value is converted to: the declared type, with what is known of it beyond."""
        assert self.declared_result is not None
        if NEVER in given.walk() or not fits(given, self.declared_result):
            return self.declared_result
        return parameter_type(given, self.declared_result)


__all__ = ["Maybe", "ScriptEmitter", "SetType"]
