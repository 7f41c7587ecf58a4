"""Django's settings, from portal.config.env."""

import dj_database_url
from csp.constants import NONE, SELF

from portal.config.env import BASE_DIR, read_environment

ENV = read_environment()

SECRET_KEY = ENV.secret_key.get_secret_value()
DEBUG = ENV.debug
ALLOWED_HOSTS = [host.strip() for host in ENV.allowed_hosts.split(",") if host.strip()]
PUBLIC_URL = ENV.public_url.rstrip("/")
VAR_DIR = ENV.var_dir

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "js_lib_bootstrap5",
    "django_q",
    "csp",
    "portal.common",
    "portal.audit",
    "portal.projects",
    "portal.inventory",
    "portal.catalog",
    "portal.allocations",
    "portal.reconcile",
    "portal.usage",
    "portal.ledger",
    "portal.ops",
    "portal.web",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "portal.web.middleware.PortalErrorMiddleware",
]

ROOT_URLCONF = "portal.config.urls"
WSGI_APPLICATION = "portal.config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "html"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.web.context.add_portal_context",
            ],
        },
    },
]

DATABASES = {"default": dj_database_url.parse(ENV.database_dsn, conn_max_age=60)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Without IMMEDIATE, a reader that becomes a writer fails with "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
    }

AUTH_USER_MODEL = "projects.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
USE_THOUSAND_SEPARATOR = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENV.is_https
SECURE_SSL_REDIRECT = ENV.is_https
SECURE_HSTS_SECONDS = 31_536_000 if ENV.is_https else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.is_https else None
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SESSION_COOKIE_NAME = "sluiceway_session"
CSRF_COOKIE_NAME = "sluiceway_csrf"
CSRF_FAILURE_VIEW = "portal.web.views.errors.show_csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

Q_CLUSTER = {
    "name": "sluiceway",
    "orm": "default",
    "workers": ENV.worker_count,
    "timeout": 300,
    "retry": 360,
    "poll": 0.5,
    "max_attempts": 1,
    "save_limit": 500,
    "catch_up": False,
    "label": "Ticks",
}

# Ticks by name: what the schedule runs each minute and what a service may wake at once.
TICKS = {
    "reconcile": "portal.ops.ticks.run_reconcile",
    "observe": "portal.ops.ticks.run_observe",
    "ingest": "portal.ops.ticks.run_ingest",
    "post_ledger": "portal.ops.ticks.run_post_ledger",
}

# Reconcile: QOS priorities by purchase option, and the guard against mass deletion. A plan that
# removes more objects than the count and more than the percentage of all stops and asks.
RECONCILE = {
    "priorities": {"on_demand": 1000, "spot": 100},
    "max_removal_percent": 30,
    "max_removal_count": 5,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENV.log_level},
}
