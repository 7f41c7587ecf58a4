"""Settings of the test run: the product's own, on a throwaway database and var folder."""

import os
from pathlib import Path

TEST_VAR = Path(__file__).resolve().parents[1] / "var" / "test"
(TEST_VAR / "static").mkdir(parents=True, exist_ok=True)
os.environ["SLUICEWAY_VAR_DIR"] = str(TEST_VAR)
os.environ["SLUICEWAY_ENV_FILE"] = ""
os.environ.setdefault("SLUICEWAY_SECRET_KEY", "a key for tests alone, never for an installation")
os.environ.setdefault("SLUICEWAY_DATABASE_URL", f"sqlite:///{TEST_VAR / 'unused.sqlite3'}")

from portal.config.settings import *  # noqa: E402, F403
from portal.config.settings import DATABASES  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads and processes then meet the same locks as in earnest.
    DATABASES["default"]["TEST"] = {"NAME": str(TEST_VAR / "test.sqlite3")}
DATABASES["default"]["CONN_MAX_AGE"] = 0

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
