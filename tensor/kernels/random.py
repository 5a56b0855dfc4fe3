"""Random numbers: PyTorch's CPU generator, bit for bit.

A Mersenne Twister (M. Matsumoto and T. Nishimura, ACM TOMACS 8, 1998) with PyTorch's distributions: 24 bits to a float32, 53 to
a float64; normal numbers by Box and Muller, one by one below 16 elements, else in groups of 16 whose float32 logarithm, sine
and cosine are the Cephes library's polynomials (S. Moshier) evaluated with fused multiply-adds, as PyTorch's are.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import (
    addr,
    array,
    atomic_cas,
    atomic_store,
    bitcast,
    cast,
    check,
    f32,
    f64,
    fma,
    i32,
    i64,
    kernel,
    math_call,
    ptr,
    select,
    shared,
    sizeof,
    sqrt,
    struct,
    u8,
    u32,
    u64,
)
from jitlang.tensor.kernels.scalars import store_int
from jitlang.tensor.layout import FLOAT32, TensorImpl
from jitlang.tensor.promotion import item_bytes

Tensor = ptr[TensorImpl]
WORDS = 624
DEFAULT_SEED = 67280421310721
TWO_PI = 6.283185307179586


@struct
class Generator:
    """The state of the generator; `next` counts down the words that are left before the state is mixed anew."""

    lock: i64
    seeded: i64
    seed: i64
    left: i64
    at: i64
    has_spare: i64
    spare: f64
    state: array[u32, WORDS]


GENERATOR = shared("jl.random.generator", Generator)


@kernel
def acquire() -> None:
    """Takes the generator; whoever holds it is about to give it back."""
    while atomic_cas(addr(GENERATOR.lock), 0, 1) != 0:
        pass
    if GENERATOR.seeded == 0:
        seed_state(DEFAULT_SEED)


@kernel
def give_back() -> None:
    """Lets others have the generator."""
    atomic_store(addr(GENERATOR.lock), 0)


@kernel(inline="never")
def seed_state(seed: i64) -> None:
    """Initialises the state from the low 32 bits of a seed."""
    state = GENERATOR.state
    state[0] = u32(seed)
    for j in range(1, WORDS):
        last = state[j - 1]
        state[j] = u32(1812433253) * (last ^ (last >> 30)) + u32(j)
    GENERATOR.left = 1
    GENERATOR.at = 0
    GENERATOR.seeded = 1
    GENERATOR.seed = seed
    GENERATOR.has_spare = 0


@kernel(extern=True)
def manual_seed(seed: i64) -> None:
    """Starts the generator anew."""
    while atomic_cas(addr(GENERATOR.lock), 0, 1) != 0:
        pass
    seed_state(seed)
    give_back()


@kernel
def twist(u: u32, v: u32) -> u32:
    """Mixes two words."""
    mixed = ((u & u32(0x80000000)) | (v & u32(0x7FFFFFFF))) >> 1
    return mixed ^ select(v & 1 == 1, u32(0x9908B0DF), u32(0))


@kernel(inline="never")
def next_state() -> None:
    """Mixes the whole state."""
    p = GENERATOR.state
    for j in range(WORDS - 397):
        p[j] = p[j + 397] ^ twist(p[j], p[j + 1])
    for j in range(WORDS - 397, WORDS - 1):
        p[j] = p[j + 397 - WORDS] ^ twist(p[j], p[j + 1])
    p[WORDS - 1] = p[396] ^ twist(p[WORDS - 1], p[0])
    GENERATOR.left = WORDS
    GENERATOR.at = 0


@kernel
def random32() -> u32:
    """The next 32 random bits."""
    GENERATOR.left = GENERATOR.left - 1
    if GENERATOR.left == 0:
        next_state()
    y = GENERATOR.state[GENERATOR.at]
    GENERATOR.at = GENERATOR.at + 1
    y = y ^ (y >> 11)
    y = y ^ ((y << 7) & u32(0x9D2C5680))
    y = y ^ ((y << 15) & u32(0xEFC60000))
    return y ^ (y >> 18)


@kernel
def random64() -> u64:
    """The next 64 random bits."""
    high = random32()
    return (u64(high) << 32) | u64(random32())


@kernel
def uniform32() -> f32:
    """A float32 from 0 to 1, without 1."""
    return f32(i32(random32() & u32(0xFFFFFF))) * f32(1.0 / 16777216.0)


@kernel
def uniform64() -> f64:
    """A float64 from 0 to 1, without 1."""
    return f64(i64(random64() & u64((1 << 53) - 1))) * (1.0 / 9007199254740992.0)


@kernel(extern=True)
def fill_uniform(t: Tensor, low: f64, high: f64) -> None:
    """Fills a row-major tensor of floats with numbers from `low` to `high`."""
    check(low <= high, "RuntimeError", "uniform_ expects to return a [from, to) range, but found from={} > to={}", low, high)
    acquire()
    if t.dtype == FLOAT32:
        narrow = cast(ptr[f32], t.data)
        a, b = f32(low), f32(high)
        for i in range(t.numel):
            x = uniform32() * (b - a) + a
            narrow[i] = select(x == b, a, x)
    else:
        wide = cast(ptr[f64], t.data)
        for i in range(t.numel):
            y = uniform64() * (high - low) + low
            wide[i] = select(y == high, low, y)
    give_back()


# ---- normal numbers -----------------------------------------------------------------------------------------------


@kernel
def normal() -> f64:
    """One normal number; they are made in pairs."""
    if GENERATOR.has_spare != 0:
        GENERATOR.has_spare = 0
        return GENERATOR.spare
    u1 = uniform64()
    u2 = uniform64()
    radius = sqrt(-2.0 * math_call("log1p", -u2))
    theta = TWO_PI * u1
    GENERATOR.spare = radius * math_call("sin", theta)
    GENERATOR.has_spare = 1
    return radius * math_call("cos", theta)


@kernel
def log_cephes(x: f32) -> f32:
    """The logarithm of a normal number from 0 to 1."""
    bits = bitcast(i32, x)
    e = f32((bits >> 23) - 127) + 1.0
    m = bitcast(f32, (bits & -2139095041) | 0x3F000000)
    small = m < f32(0.707106781186547524)
    extra = select(small, m, f32(0.0))
    m = m - 1.0
    e = e - select(small, f32(1.0), f32(0.0))
    m = m + extra
    z = m * m
    y = f32(7.0376836292e-2)
    y = fma(y, m, f32(-1.1514610310e-1))
    y = fma(y, m, f32(1.1676998740e-1))
    y = fma(y, m, f32(-1.2420140846e-1))
    y = fma(y, m, f32(1.4249322787e-1))
    y = fma(y, m, f32(-1.6668057665e-1))
    y = fma(y, m, f32(2.0000714765e-1))
    y = fma(y, m, f32(-2.4999993993e-1))
    y = fma(y, m, f32(3.3333331174e-1))
    y = fma(y * m, z, e * f32(-2.12194440e-4))
    y = fma(-z, f32(0.5), y)
    return fma(e, f32(0.693359375), m + y)


@kernel
def sincos_cephes(x: f32) -> Any:
    """Sine and cosine of a number from 0 to 2 π."""
    j = (i32(x * f32(1.27323954473516)) + 1) & -2
    y = f32(j)
    r = fma(y, f32(-0.78515625), x)
    r = fma(y, f32(-2.4187564849853515625e-4), r)
    r = fma(y, f32(-3.77489497744594108e-8), r)
    z = r * r
    c = f32(2.443315711809948e-5)
    c = fma(c, z, f32(-1.388731625493765e-3))
    c = fma(c, z, f32(4.166664568298827e-2))
    c = fma(c * z, z, -(z * f32(0.5))) + 1.0
    s = f32(-1.9515295891e-4)
    s = fma(s, z, f32(8.3321608736e-3))
    s = fma(s, z, f32(-1.6666654611e-1))
    s = fma(s * z, r, r)
    straight = j & 2 == 0
    sine, cosine = select(straight, s, c), select(straight, c, s)
    sine = select(j & 4 != 0, -sine, sine)
    cosine = select((j - 2) & 4 == 0, -cosine, cosine)
    return sine, cosine


@kernel
def transform32(p: ptr[f32], mean: f32, deviation: f32) -> None:
    """Sixteen uniform numbers to sixteen normal ones."""
    for j in range(8):
        radius = sqrt(-2.0 * log_cephes(1.0 - p[j]))
        sine, cosine = sincos_cephes(f32(TWO_PI) * p[j + 8])
        p[j] = fma(radius * cosine, deviation, mean)
        p[j + 8] = fma(radius * sine, deviation, mean)


@kernel
def transform64(p: ptr[f64], mean: f64, deviation: f64) -> None:
    """Sixteen uniform numbers to sixteen normal ones."""
    for j in range(8):
        radius = sqrt(-2.0 * math_call("log", 1.0 - p[j]))
        theta = TWO_PI * p[j + 8]
        p[j] = fma(radius * math_call("cos", theta), deviation, mean)
        p[j + 8] = fma(radius * math_call("sin", theta), deviation, mean)


@kernel
def fill_normal_of(T: Any, uniform: Any, transform: Any, data: ptr[u8], size: i64, mean: f64, deviation: f64) -> None:
    """Fills memory with normal numbers of type T."""
    p = cast(ptr[T], data)
    if size < 16:
        for i in range(size):
            p[i] = T(normal() * deviation + mean)
        return
    for i in range(size):
        p[i] = uniform()
    for g in range(size // 16):
        transform(p + g * 16, T(mean), T(deviation))
    if size % 16 != 0:
        # The last sixteen are made anew, so some of them twice.
        for i in range(size - 16, size):
            p[i] = uniform()
        transform(p + (size - 16), T(mean), T(deviation))


@kernel(extern=True)
def fill_normal(t: Tensor, mean: f64, deviation: f64) -> None:
    """Fills a row-major tensor of floats with normal numbers."""
    check(deviation >= 0.0, "RuntimeError", "normal expects std >= 0.0, but found std {}", deviation)
    acquire()
    if t.dtype == FLOAT32:
        fill_normal_of(f32, uniform32, transform32, t.data, t.numel, mean, deviation)
    else:
        fill_normal_of(f64, uniform64, transform64, t.data, t.numel, mean, deviation)
    give_back()


# ---- integers -----------------------------------------------------------------------------------------------------


@kernel(extern=True)
def fill_integers(t: Tensor, low: i64, high: i64) -> None:
    """Fills a row-major tensor with integers from `low` to `high`, without `high`."""
    check(low < high, "RuntimeError", "random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high)
    span = u64(high) - u64(low)
    item = item_bytes(t.dtype)
    acquire()
    for i in range(t.numel):
        value = i64(random64() % span) if span >= u64(1 << 28) else i64(u64(random32()) % span)
        store_int(t.data + i * item, t.dtype, low + value)
    give_back()


@kernel(extern=True)
def fill_bernoulli(t: Tensor, p: f64) -> None:
    """Fills a row-major tensor with ones, each with probability `p`, and zeros."""
    check(p >= 0.0 and p <= 1.0, "RuntimeError", "bernoulli_ expects p to be in [0, 1], but got p={}", p)
    item = item_bytes(t.dtype)
    acquire()
    for i in range(t.numel):
        store_int(t.data + i * item, t.dtype, i64(uniform64() < p))
    give_back()


@kernel(extern=True)
def fill_permutation(t: Tensor) -> None:
    """Fills a row-major int64 tensor with 0, 1, … in random order."""
    items = cast(ptr[i64], t.data)
    n = t.numel
    for i in range(n):
        items[i] = i
    acquire()
    for i in range(n - 1):
        z = i64(u64(random32()) % u64(n - i))
        kept = items[i]
        items[i] = items[i + z]
        items[i + z] = kept
    give_back()


@kernel(extern=True)
def initial_seed() -> i64:
    """The seed that the generator was last started with."""
    return GENERATOR.seed if GENERATOR.seeded != 0 else DEFAULT_SEED


@kernel(extern=True)
def copy_state(out: ptr[u8], back: i64) -> None:
    """Copies the whole state out, or back in."""
    size = sizeof(Generator)
    acquire()
    state = cast(ptr[u8], GENERATOR)
    if back != 0:
        for i in range(8, size):
            state[i] = out[i]
    else:
        for i in range(8, size):
            out[i] = state[i]
    give_back()
