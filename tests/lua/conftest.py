"""Runs the plugin's real files in Lua 5.1, as slurmctld does, beside a given policy."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lupa import lua51

PLUGIN_FOLDER = Path(__file__).resolve().parents[2] / "slurm_plugins" / "job_submit"
SUCCESS, ERROR = 0, -1
CODES = {"ESLURM_ACCESS_DENIED": 2002, "ESLURM_ACCOUNTING_POLICY": 2050}
NO_VAL = 4294967294
NO_VAL16 = 65534


@dataclass
class Plugin:
    """The loaded plugin; `log` holds what slurmctld's log would."""

    lua: Any
    log: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def submit(self, **fields: Any) -> tuple[int, str, dict[str, Any]]:
        """Return the code, what the user is told, and the job as the plugin left it."""
        self.said.clear()
        defaults = {
            "account": "p1001",
            "user_name": "ada",
            "min_nodes": NO_VAL,
            "num_tasks": NO_VAL,
            "ntasks_per_node": NO_VAL16,
            "time_limit": NO_VAL,
            "shared": NO_VAL16,
        }
        job = self.lua.table_from({**defaults, **fields})
        code = self.lua.globals().slurm_job_submit(job, self.lua.table(), 1000)
        return int(code), " ".join(self.said), dict(job)

    def modify(
        self, job: dict[str, Any], user_id: int = 1000, **fields: Any
    ) -> tuple[int, str, dict[str, Any]]:
        """Return the code, what is logged, and the change as the plugin left it."""
        self.log.clear()
        unset = {"min_nodes": NO_VAL, "num_tasks": NO_VAL, "ntasks_per_node": NO_VAL16}
        change = self.lua.table_from({**unset, "time_limit": NO_VAL, "shared": NO_VAL16, **fields})
        record = {"account": "p1001", "user_name": "ada", "min_nodes": 1, "num_tasks": 1, **job}
        code = self.lua.globals().slurm_job_modify(
            change, self.lua.table_from(record), self.lua.table(), user_id
        )
        return int(code), " ".join(self.log), dict(change)


@pytest.fixture
def load_plugin(tmp_path: Path) -> Callable[..., Plugin]:
    """Return a function that loads the plugin with a policy text, or None for no policy."""

    def load(policy: str | None, codes: Mapping[str, int] = CODES) -> Plugin:
        for source in PLUGIN_FOLDER.glob("*.lua"):
            shutil.copy(source, tmp_path)
        if policy is not None:
            (tmp_path / "sluiceway_policy.lua").write_text(policy)
        lua = lua51.LuaRuntime(unpack_returned_tuples=True)
        plugin = Plugin(lua)
        # Like Slurm's own: these take a format and its values.
        make = lua.eval(
            "function(keep) return function(f, ...) keep(string.format(f, ...)) end end"
        )
        values = {"SUCCESS": SUCCESS, "ERROR": ERROR, **codes}
        lua.globals().slurm = lua.table_from(
            {
                **values,
                "log_user": make(plugin.said.append),
                "log_info": make(plugin.log.append),
                "log_error": make(plugin.log.append),
            }
        )
        result = lua.execute(f"return dofile([[{tmp_path}/job_submit.lua]])")
        assert result == SUCCESS
        return plugin

    return load
