"""Django's settings, all from the environment (`environment.py` lists the variables)."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.templatetags.static import static

from hermes_workflow.databases import database
from hermes_workflow.environment import read_environment
from hermes_workflow.secret_key import secret_key

env = read_environment()
BASE_DIR = Path(__file__).resolve().parent.parent
HERMES_HOME = Path(env("HERMES_HOME") or BASE_DIR / "var").resolve()
HERMES_HOME.mkdir(mode=0o700, parents=True, exist_ok=True)

TESTING = "pytest" in sys.modules
DEBUG = env("HERMES_DEBUG")
SECRET_KEY = env("HERMES_SECRET_KEY") or secret_key(HERMES_HOME / "secret-key")
ALLOWED_HOSTS = env("HERMES_ALLOWED_HOSTS")
REDIS_URL = env("REDIS_URL")
HTTPS = env("HERMES_HTTPS")
HOST = env("HOST")
PORT = env("PORT")

HERMES_PROCESS = env("HERMES_PROCESS")
HERMES_WORKERS = env("HERMES_WORKERS")
HERMES_STEPS_PER_WORKER = env("HERMES_STEPS_PER_WORKER")
HERMES_REMIND_HOURS = env("HERMES_REMIND_HOURS")
HERMES_SKILLS_DIRS = env("HERMES_SKILLS_DIRS") or [str(HERMES_HOME / "skills")]
HERMES_DEFAULT_PROFILE = env("HERMES_DEFAULT_PROFILE")
HERMES_LEASE_SECONDS = env("HERMES_LEASE_SECONDS")
HERMES_SEPARATE_DUTIES = env("HERMES_SEPARATE_DUTIES")
HERMES_TRUSTED_PROXIES = env("HERMES_TRUSTED_PROXIES")

ROOT_URLCONF = "hermes_workflow.urls"
ASGI_APPLICATION = "hermes_workflow.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "hermes_workflow.apps.HermesWorkflowConfig",
    "runs",
    "approvals",
    "unfold.apps.BasicAppConfig",
    "hermes_workflow.apps.HermesAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "channels",
    "csp",
    "django_filters",
    "django_htmx",
    "django_q",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "knox",
    "rest_framework",
]

MIDDLEWARE = [
    "hermes_workflow.middleware.forwarded_address",
    "django.middleware.security.SecurityMiddleware",
    "hermes_workflow.middleware.ContentSecurityPolicy",
    "hermes_workflow.middleware.StaticFiles",
    "hermes_workflow.middleware.no_nul",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "approvals.shell.shell",
            ]
        },
    }
]

# --- data -----------------------------------------------------------------------------------------------------------

DATABASES = {"default": database(env, HERMES_HOME)}
MEDIA_ROOT = HERMES_HOME / "media"
FILE_UPLOAD_PERMISSIONS = 0o600
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
DATA_UPLOAD_MAX_NUMBER_FILES = 10

# --- work: rings only; rows are the record ---------------------------------------------------------------------------

# A request rings and tells open pages; neither may keep it waiting when Redis hangs. What the URL itself says comes first.
REDIS = f"{REDIS_URL}{'&' if '?' in REDIS_URL else '?'}socket_connect_timeout=1&socket_timeout=3"
RING_TIMEOUT = 7 * 86400  # never the bound of a step: each step has its own

Q_CLUSTER: dict[str, Any] = {
    "name": "hermes",
    "workers": HERMES_WORKERS,
    "poll": 0.2,
    "queue_limit": 1,  # a ring fetched early would wait behind a long step
    "timeout": RING_TIMEOUT,
    "retry": 3 * RING_TIMEOUT,  # above timeout * (1 + queue_limit / workers), or a ring is delivered twice
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "catch_up": False,
    "label": "Task queue",
    **({"redis": REDIS} if REDIS_URL else {"orm": "default"}),
}

CHANNEL_LAYERS: dict[str, Any] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
if REDIS_URL:
    CHANNEL_LAYERS["default"] = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS]}}

# --- who may come in -------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False

KNOX_TOKEN_MODEL = "hermes_workflow.Token"
MIGRATION_MODULES = {"knox": None}  # its migrations make a token table that nothing uses, and PostgreSQL could not be flushed
REST_KNOX = {"TOKEN_TTL": timedelta(days=env("HERMES_TOKEN_DAYS")), "AUTH_HEADER_PREFIX": "Token"}

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hermes_workflow.http.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["hermes_workflow.http.bodies.JSONBody"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "hermes_workflow.http.negotiation.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "hermes_workflow.http.errors.handle",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Hermes Workflow",
    "DESCRIPTION": "Designs, runs, gates and decisions.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "PREPROCESSING_HOOKS": ["hermes_workflow.http.openapi.with_slash"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
CSRF_FAILURE_VIEW = "hermes_workflow.http.errors.csrf_failure"
AXES_LOCKOUT_CALLABLE = "hermes_workflow.http.errors.locked_out"

# --- what a browser is told ------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],  # the own host's WebSocket counts as self
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 365 * 86400 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HERMES_TRUSTED_PROXIES else None
CSRF_TRUSTED_ORIGINS = env("HERMES_TRUSTED_ORIGINS")
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else "hermes-session"
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "hermes-csrf"
SESSION_COOKIE_AGE = 14 * 86400
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static-built"
STATIC_ROOT.mkdir(exist_ok=True)
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MANIFEST_STRICT = False
COLLECTED = (STATIC_ROOT / "staticfiles.json").exists() or "collectstatic" in sys.argv
HASHED_NAMES = COLLECTED and not (TESTING or DEBUG)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if HASHED_NAMES
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
UNFOLD = {
    "SITE_TITLE": "Hermes Workflow",
    "SITE_HEADER": "Hermes Workflow",
    "SITE_URL": "/",
    "SITE_ICON": lambda request: static("hermes/icons/mark.svg"),
    "STYLES": [lambda request: static("hermes/css/admin.css")],
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("hermes/icons/mark.svg")}],
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = "hermes_workflow.formats"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "hermes_workflow.logs.OneLine", "format": "%(levelname)s %(name)s %(message)s"}},
    "filters": {"refusals": {"()": "hermes_workflow.logs.PlainRefusals"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env("HERMES_LOG_LEVEL")},
    "loggers": {
        "django.request": {"filters": ["refusals"]},
        "axes": {"level": "WARNING"},
        "django-q": {"level": "WARNING"},
        "psycopg.pool": {"level": "ERROR"},
        "channels_redis": {"level": "CRITICAL"},
        "httpx2": {"level": "WARNING"},
    },
}

if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
