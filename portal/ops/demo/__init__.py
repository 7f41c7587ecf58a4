"""The demo: `make demo` plays the main job on a sandbox, with `make status`, `stop` and `clean`.

What runs before .venv exists (__main__, host, venv, services and what they import) uses the
standard library and portal.sandbox alone; main_job and what it imports run inside .venv.
"""
