"""Completes a PostgreSQL connection string: what it leaves open comes from libpq's variables, and TLS is demanded.

libpq prefers the string to a service file, and both to variables. The daemon connects later, in another environment,
so what only a variable says is written into the string. A password never is.
"""

from __future__ import annotations

import ipaddress
import os

import psycopg
from psycopg import conninfo, pq

from bb.kernel.escaping import harmless
from bb.ledger.carrier import postgres_service
from bb.ledger.carrier.door import EngineUnreachable
from bb.ledger.fleet import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
PATHS = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "servicefile")
WORDS_FOR_FILES = ("system",)  # `sslrootcert=system` means the certificates of the system
VARIABLES = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGDATABASE": "dbname",
    "PGUSER": "user",
    "PGPASSFILE": "passfile",
    "PGSERVICE": "service",
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLCRL": "sslcrl",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
    "PGLOADBALANCEHOSTS": "load_balance_hosts",
    "PGOPTIONS": "options",
    "PGCHANNELBINDING": "channel_binding",
    "PGGSSENCMODE": "gssencmode",
}
SERVICE_FILE = "PGSERVICEFILE"
LAST_PORT = 65535
STRICT = "verify-full"  # the server must show a certificate for the name that we connect to


def complete(text: str, env: Mapping[str, str]) -> str:
    """The connection string TEXT with what the variables in ENV add to it, and with TLS unless the server is local or
    the mode is given."""
    given = _read(text)
    _check_numbers(given)
    if secret := next((name for name in SECRETS if name in given), None):
        raise settings.SecretInAddress(f"the address has the option {secret}, which is a secret")
    variables = {option: env[name] for name, option in VARIABLES.items() if env.get(name) and option in _known()}
    named = given.get("service") or variables.get("service")
    service = postgres_service.options(named, {**env, **_file_in(given)}) if named else {}
    ours = {**{name: value for name, value in variables.items() if name not in service}, **given}
    everything = {**service, **ours}
    is_unknown = named and not service  # the service may be any server
    if "sslmode" not in everything and (is_unknown or not is_local(everything)):
        ours["sslmode"] = STRICT
    return conninfo.make_conninfo("", **{name: _absolute(name, value) for name, value in ours.items()})


def service_file(address: str, env: Mapping[str, str]) -> str:
    """The file of services that only a variable in ENV names, if the service of a complete ADDRESS is in it. It is
    saved beside the address, because most versions of libpq have no option for it."""
    given = _read(address)
    path = env.get(SERVICE_FILE, "")
    if not path or "servicefile" in given or "service" not in given:
        return ""
    return os.path.abspath(path) if postgres_service.options(given["service"], {SERVICE_FILE: path}) else ""


def resolved(address: str, file: str) -> str:
    """The complete ADDRESS with what FILE says about its service, instead of the service. libpq would take the file
    from the environment, which is the same for all clones that the daemon connects."""
    given = _read(address)
    name = given.pop("service", "")
    service = postgres_service.options(name, {SERVICE_FILE: file})
    if not service:
        hint = f"write a section with that name into {file}, or run `bb fleet join` with the new address"
        raise EngineUnreachable(f"{file} does not define the service {name}", hint=hint)
    try:
        return conninfo.make_conninfo("", **{**service, **given})
    except psycopg.ProgrammingError as error:
        shown = harmless(str(error).strip()[:200])  # the name of an option, and no value, which may be a password
        raise EngineUnreachable(f"libpq cannot read the service {name} in {file}: {shown}") from None


def is_local(options: Mapping[str, str]) -> bool:
    """Whether every server of a connection with these OPTIONS is on this machine."""
    addresses, hosts = (options.get(name, "").split(",") for name in ("hostaddr", "host"))
    count = max(len(addresses), len(hosts))
    addresses, hosts = (each + [""] * (count - len(each)) for each in (addresses, hosts))
    return all(_is_here(address or host) for address, host in zip(addresses, hosts, strict=True))


def _is_here(host: str) -> bool:
    if host.startswith(("/", "@")) or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(text: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo.conninfo_to_dict(text).items() if value is not None}
    except psycopg.ProgrammingError as error:
        # libpq quotes the string in its message, and the string may have a password.
        shown = harmless(str(error).split('"')[0].strip(" :\n"))
        raise settings.InvalidEngine(f"libpq cannot read that connection string: {shown}") from None


def _check_numbers(given: Mapping[str, str]) -> None:
    """Refuse numbers that libpq refuses only when it connects."""
    for port in given.get("port", "").split(","):
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= LAST_PORT):
            raise settings.InvalidEngine(f"{harmless(port[:20])!r} is not a port")
    seconds = given.get("connect_timeout", "0")
    if not (seconds.isascii() and seconds.lstrip("-").isdigit()):
        raise settings.InvalidEngine(f"connect_timeout must be a number of seconds, not {harmless(seconds[:20])!r}")


def _known() -> frozenset[str]:
    """The options that this libpq knows."""
    return frozenset(option.keyword.decode() for option in pq.Conninfo.get_defaults())


def _file_in(given: Mapping[str, str]) -> dict[str, str]:
    return {SERVICE_FILE: given["servicefile"]} if "servicefile" in given else {}


def _absolute(name: str, value: str) -> str:
    """The value of an option. The daemon has another directory, so a relative path to a file would lead elsewhere."""
    return os.path.abspath(value) if name in PATHS and value and value not in WORDS_FOR_FILES else value
