"""The engines that bb knows: reads the address of one, and opens its carrier or its keeper.

An address never has a secret, because it is saved and shown. Credentials stay in the places of the engine's own
library: `.pgpass`, a service file or a client certificate for PostgreSQL, a credentials file for NATS.
"""

from __future__ import annotations

import os
from importlib import import_module

from bb.kernel.errors import Refused, Usage
from bb.kernel.escaping import harmless
from bb.ledger.carrier import postgres_schema
from bb.ledger.carrier.door import AnotherEngine
from bb.ledger.fleet.settings import EngineAddress, InvalidEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ledger.carrier.door import Carrier, Keeper
    from bb.ledger.published.fleet_terms import FleetTerms

POSTGRES, NATS = "postgres", "nats"
SHOWN = 80  # characters of an address in a refusal
PATHS = ("creds", "nkey", "ca", "cert", "key")  # in an address of NATS; the daemon has another directory
NATS_SCHEMES = ("nats://", "tls://")
EXTRAS = {POSTGRES: "fleet", NATS: "nats"}  # of the package

NoEngine = Usage.declare(
    "NO_ENGINE",
    "The request names no engine",
    hint="name it, as service=NAME, postgres://HOST/DATABASE or nats://HOST:PORT; or set PGSERVICE or PGHOST",
)
EngineLibraryMissing = Refused.declare(
    "ENGINE_LIBRARY_MISSING",
    "The library for that engine is not installed",
    hint="install it where bb is installed: `pip install 'beadboard[fleet]'`, or 'beadboard[nats]' for NATS",
)
NoRoles = Refused.declare(
    "NO_ROLES",
    "That engine has no roles that bb could make",
    hint="`bb fleet enroll MACHINE ENGINE` without other options prints what to write into its configuration",
)


def parse(text: str, env: Mapping[str, str]) -> EngineAddress:
    """The engine that TEXT names. What TEXT leaves open comes from libpq's variables in ENV, because the daemon, which
    connects later, has another environment."""
    text = text.strip()
    if text.startswith(NATS_SCHEMES):
        return EngineAddress(NATS, _nats(text, env))
    if not text and not any(env.get(name) for name in ("PGSERVICE", "PGHOST", "PGHOSTADDR")):
        raise NoEngine()
    if text and "=" not in text and not text.startswith(("postgres://", "postgresql://")):
        shown = text.rpartition("@")[2]  # what is before it may have a password
        raise InvalidEngine(f"{harmless(shown[:SHOWN])!r} is not the address of an engine")
    postgres_address = _library("bb.ledger.fleet.postgres_address", POSTGRES)
    address = postgres_address.complete(text, env)
    return EngineAddress(POSTGRES, address, postgres_address.service_file(address, env))


def _nats(text: str, env: Mapping[str, str]) -> str:
    """The address of NATS servers, with the places of credentials that the environment names."""
    from bb.ledger.carrier.nats_address import NatsAddress  # noqa: PLC0415  (one engine of two is used)

    found = NatsAddress.parse(text)
    named = {"creds": os.path.abspath(creds)} if (creds := env.get("NATS_CREDS")) else {}
    named |= {"context": context} if (context := env.get("NATS_CONTEXT")) else {}
    options = {name: os.path.abspath(value) if name in PATHS else value for name, value in found.options.items()}
    return found.replace(options={**named, **options}).text


def open_carrier(engine: EngineAddress, repo: str, terms: FleetTerms) -> Carrier:
    """The carrier of a repository's log, as the TERMS of its fleet name it. It connects when it is used."""
    must_fit(engine, terms)
    module = _library(f"bb.ledger.carrier.{engine.carrier}", engine.carrier)
    make = module.PostgresCarrier if engine.carrier == POSTGRES else module.NatsCarrier
    carrier: Carrier = make(_address(engine), repo, terms.incarnation)
    return carrier


def _address(engine: EngineAddress) -> str:
    """Where to connect. What a service names may have changed since the address was saved, so it is read, and whether
    TLS is demanded is decided, anew."""
    if engine.carrier != POSTGRES:
        return engine.address
    postgres_address = _library("bb.ledger.fleet.postgres_address", POSTGRES)
    if not engine.service_file:
        return str(postgres_address.complete(engine.address, os.environ))
    env = {**os.environ, postgres_address.SERVICE_FILE: engine.service_file}
    return str(postgres_address.resolved(postgres_address.complete(engine.address, env), engine.service_file))


def keeper(engine: EngineAddress) -> Keeper:
    """The keeper of an engine: begins, ends and prunes logs. For the person who runs it."""
    module = _library(f"bb.ledger.carrier.{engine.carrier}", engine.carrier)
    make = module.PostgresKeeper if engine.carrier == POSTGRES else module.NatsKeeper
    made: Keeper = make(_address(engine))
    return made


def must_fit(engine: EngineAddress, terms: FleetTerms) -> None:
    """Refuse an engine of another kind than the one that the fleet uses."""
    if engine.carrier != terms.carrier:
        hint = f"connect to the {terms.carrier} engine of the fleet: `bb fleet join ADDRESS`"
        raise AnotherEngine(f"the fleet of this ledger uses {terms.carrier}, and this is {engine.carrier}", hint=hint)


def _library(module: str, carrier: str) -> Any:
    """The module, which needs the library of that engine."""
    try:
        return import_module(module)
    except ImportError as error:
        extra = EXTRAS[carrier]
        hint = f"install it where bb is installed: `pip install 'beadboard[{extra}]'`"
        raise EngineLibraryMissing(f"the library for {carrier} cannot be loaded: {error}", hint=hint) from error


def schema() -> str:
    """The statements that make what bb needs in PostgreSQL. No server is asked."""
    return postgres_schema.schema()


def enroller(engine: EngineAddress, *, runs: bool) -> Any:
    """The keeper of an engine, which knows what gives a machine its rights. If it RUNS that, it must be PostgreSQL."""
    if runs and engine.carrier != POSTGRES:
        raise NoRoles(f"{engine.carrier} has its users in its own configuration, which bb does not change")
    return keeper(engine)
