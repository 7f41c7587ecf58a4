"""The environment, read once and typed: every SLUICEWAY_ variable with its meaning."""

import os
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parents[2]


class Environment(BaseSettings):
    """Settings of one installation; a wrong or missing value stops the start with its name."""

    model_config = SettingsConfigDict(env_prefix="SLUICEWAY_", extra="ignore")

    secret_key: SecretStr = Field(min_length=32)
    database_url: str = ""
    var_dir: Path = BASE_DIR / "var"
    allowed_hosts: str = "127.0.0.1,localhost"
    public_url: str = "http://127.0.0.1:8000"
    is_https: bool = False
    debug: bool = False
    worker_count: int = Field(default=2, ge=1, le=64)
    log_level: str = "INFO"

    @property
    def database_dsn(self) -> str:
        """The database's URL; an SQLite file under var/ where none is given."""
        return self.database_url or f"sqlite:///{self.var_dir / 'sluiceway.sqlite3'}"


def read_environment() -> Environment:
    """Return the settings from the process environment and, where it exists, an env file.

    The file is SLUICEWAY_ENV_FILE, or sluiceway.env in SLUICEWAY_VAR_DIR (default var/).
    """
    var_dir = Path(os.environ.get("SLUICEWAY_VAR_DIR", BASE_DIR / "var"))
    env_file = os.environ.get("SLUICEWAY_ENV_FILE", str(var_dir / "sluiceway.env"))
    return Environment(_env_file=env_file)  # type: ignore[call-arg]
