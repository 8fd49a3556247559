"""Strict JAX everywhere, fixtures that run a test in both precisions or compile quickly, a small system of rounds."""

from functools import lru_cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def x64(request):
    with jax.enable_x64(request.param):
        yield request.param


QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
quick = partial(jax.jit, compiler_options=QUICK)
TESTS = count()


@lru_cache
def quick_jit(replay, inside, *_):
    """In place of `_jit` of the runner."""
    return jax.jit(replay, static_argnums=(0, 1)) if inside else quick(replay, static_argnums=(0, 1), donate_argnums=3)


@pytest.fixture
def in_a_hurry(monkeypatch):
    """The runner's compilations take a sixth of the time."""
    monkeypatch.setattr(import_module("jaxrate.run"), "_jit", quick_jit)


@pytest.fixture(autouse=True)
def few_maps():
    """Forget compiled functions before they take all the maps of memory that Linux allows a process, 65,530.

    Counting them takes 10 ms, so only now and then.
    """
    yield
    maps = Path("/proc/self/maps")
    if next(TESTS) % 16 == 0 and maps.exists() and maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()


@pytest.fixture
def share(monkeypatch):
    """A factory of a small system of rounds, known by its name; it has a tuple among its settings."""
    import jaxrate as jr
    from tests.test_rounds import SYSTEM

    def make(factors=(0.5, 0.75), **params):
        return SYSTEM._replace(params=SYSTEM.params._replace(**params), settings={"factors": factors})

    monkeypatch.setitem(jr.SYSTEMS, "share", make)
    return make
