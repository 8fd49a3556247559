"""Compiled programs are kept where the user's cache is, and nowhere else, and change no number."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache as jax_cache

import jaxrate as jr
from jaxrate import cli
from jaxrate.core import compiled_program_cache
from tests.conftest import mark_full

pytest.importorskip("pyarrow")

SETTINGS = [name.upper() for name in compiled_program_cache.cache_settings(Path())]


@pytest.fixture
def run(tmp_path):
    games = tmp_path / "games.csv"
    games.write_text("winner,loser\nAda,Bo\nBo,Cy\nCy,Ada\n")

    def run():
        kept = {name: x for name, x in os.environ.items() if name not in (cli.CACHE_VARIABLE, *SETTINGS)}
        command = [sys.executable, "-m", "jaxrate", "rate", str(games), "--system", "elo"]
        environment = kept | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [line for line in done.stdout.splitlines() if " s, " not in line]

    return run


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another one elsewhere")
@pytest.mark.parametrize("again", mark_full([False, True], False))
def test_programs_are_kept_and_change_nothing(run, tmp_path, jaxrate, again):
    code, text, _ = jaxrate("rate", tmp_path / "games.csv", "--system", "elo")
    said, folder = [line for line in text.splitlines() if " s, " not in line], tmp_path / "cache"
    assert code == 0 and not folder.exists()
    assert run() == said
    (kept,) = (folder / "jaxrate").iterdir()
    files = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert kept.name == compiled_program_cache.processor_cache_key()
    assert 0 < sum(file.stat().st_size for file in files) < 1.5e6
    if again:
        assert run() == said
        assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == files  # nothing was compiled again


def test_it_is_told_before_jax_is_loaded(monkeypatch, tmp_path):
    for name in (cli.CACHE_VARIABLE, *SETTINGS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiled_program_cache, "user_cache_folder", lambda: tmp_path)
    monkeypatch.setattr(cli.warnings, "filterwarnings", lambda *given, **more: None)
    monkeypatch.setenv(cli.CACHE_VARIABLE, "OFF")
    cli.enable_compilation_cache()
    assert not list(tmp_path.iterdir())
    monkeypatch.delenv(cli.CACHE_VARIABLE)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(compiled_program_cache, "user_cache_folder", lambda: Path("/proc/nowhere"))
        cli.enable_compilation_cache()  # nobody can write there
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    cli.enable_compilation_cache()
    assert not list(tmp_path.iterdir()) and os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"


def test_an_option_keeps_nothing(monkeypatch, tmp_path, jaxrate):
    told = []
    monkeypatch.setattr(cli, "enable_compilation_cache", lambda: told.append(True))
    (tmp_path / "games.csv").write_text("winner,loser\nAda,Bo\n")
    for options in (), ("--no-cache",):
        assert jaxrate(*options, "rate", tmp_path / "games.csv", "--system", "elo", "--dry-run")[0] == 0
    assert told == [True]


def test_the_oldest_go_first(monkeypatch, tmp_path):
    (tmp_path / "a folder of JAX's own").mkdir()
    os.utime(tmp_path / "a folder of JAX's own", (0, 0))
    for age in range(4):
        (tmp_path / str(age)).write_bytes(bytes(100))
        os.utime(tmp_path / str(age), (age, age))
    compiled_program_cache._halve_cache_if_too_large(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5
    monkeypatch.setattr(compiled_program_cache, "MAX_CACHE_BYTES", 399)
    compiled_program_cache._halve_cache_if_too_large(tmp_path)
    assert sorted(x.name for x in tmp_path.iterdir() if x.is_file()) == ["2", "3"]


def test_the_folder_is_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled_program_cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled_program_cache.user_cache_folder() == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the convention says to ignore
    assert compiled_program_cache.user_cache_folder() == Path.home() / ".cache"
    monkeypatch.setattr(compiled_program_cache.sys, "platform", "darwin")
    assert compiled_program_cache.user_cache_folder() == Path.home() / "Library" / "Caches"


def test_programs_of_a_process_are_kept_in_the_folder_given(tmp_path):
    before = {name: getattr(jax.config, name) for name in ("jax_enable_compilation_cache", *map(str.lower, SETTINGS))}
    jax.config.update("jax_enable_compilation_cache", True)  # as it is unless a user says otherwise
    jax.jit(lambda x: x + 1)(0)
    try:
        assert jr.extend.cache_programs(str(tmp_path / "kept")) == tmp_path / "kept"
        jax.jit(lambda x: x + 2)(0)
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        jax_cache.reset_cache()
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    jax.jit(lambda x: x + 3)(0)
    assert kept and {path.name for path in (tmp_path / "kept").iterdir()} == kept


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="nothing can be written in the folder .*file"):
        jr.extend.cache_programs(tmp_path / "file")
