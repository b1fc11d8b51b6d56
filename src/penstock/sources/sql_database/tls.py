"""Which servers a connection verifies, and which properties of JDBC drivers are refused."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DANGEROUS_PROPERTIES: Final = frozenset(
    (
        # Names of classes, which the driver loads and runs.
        *("socketfactory", "socketfactoryarg", "sslfactoryarg", "sslhostnameverifier", "sslpasswordcallback"),
        *("authenticationpluginclassname", "authenticationplugins", "defaultauthenticationplugin"),
        *("queryinterceptors", "exceptioninterceptors", "connectionlifecycleinterceptors"),
        *("propertiestransform", "clientinfoprovider", "profilereventhandler", "xmlfactoryfactory"),
        *("parseinfocachefactory", "serverconfigcachefactory", "autodeserialize", "logger"),
        # Files that the driver writes, or reads for the server.
        *("loggerfile", "allowloadlocalinfile", "allowloadlocalinfileinpath", "allowurlinlocalinfile"),
        "allowlocalinfile",
    )
)
_JAVA_TRUST_STORE_FACTORY: Final = "org.postgresql.ssl.DefaultJavaSSLFactory"
_SAFE_SSL_FACTORIES: Final = frozenset((_JAVA_TRUST_STORE_FACTORY, "org.postgresql.ssl.LibPQFactory"))
_HOSTS: Final = re.compile(r"^jdbc:[^/]*//([^/?;]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TlsProperty:
    """How a driver is told to verify the server; names are in lower case where they are compared."""

    name: str
    verified: str
    others: frozenset[str]
    """Properties that decide it in another way."""


_TLS: Final = {
    "postgresql": _TlsProperty(name="sslmode", verified="verify-full", others=frozenset(("ssl",))),
    "mysql": _TlsProperty(
        name="sslMode",
        verified="VERIFY_IDENTITY",
        others=frozenset(("usessl", "requiressl", "verifyservercertificate")),
    ),
    "mariadb": _TlsProperty(
        name="sslMode",
        verified="verify-full",
        others=frozenset(("usessl", "trustservercertificate", "disablesslhostnameverification")),
    ),
}


def refuse_dangerous(properties: Mapping[str, str]) -> None:
    """Refuse properties that make a driver load code, touch files, or quote values by itself.

    >>> refuse_dangerous({"socketTimeout": "10"})
    """
    for name, value in properties.items():
        key, text = name.strip().lower(), value.strip()
        is_code = key in _DANGEROUS_PROPERTIES or (key == "sslfactory" and text not in _SAFE_SSL_FACTORIES)
        if is_code or (key == "preferquerymode" and text.lower() == "simple"):
            raise UsageError(
                f"the JDBC property {name} is refused: it lets a driver load code, touch files, or quote "
                "values by itself",
                hint="leave it out of the URL, the credentials and backend_kwargs",
            )


def tls_properties(dialect: str, url: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that make a connection verify its server, where the user has not decided it.

    A server on this machine, and one of another kind of database, is left to its driver.

    >>> tls_properties("mysql", "jdbc:mysql://db.example.org:3306/shop", {})
    {'sslMode': 'VERIFY_IDENTITY'}
    >>> tls_properties("mysql", "jdbc:mysql://localhost:3306/shop", {})
    {}
    """
    tls = _TLS.get(dialect)
    names = {name.lower() for name in properties}
    if tls is None or is_local(url) or names & {tls.name.lower(), *tls.others}:
        return {}
    added = {tls.name: tls.verified}
    if dialect == "postgresql" and not names & {"sslrootcert", "sslfactory"}:
        # Otherwise the driver looks for a file in the home folder, and nowhere else.
        added["sslfactory"] = _JAVA_TRUST_STORE_FACTORY
    return added


def is_verified(dialect: str, url: str, properties: Mapping[str, str]) -> bool:
    """Whether the choice of the user verifies the server; true where there is nothing to verify."""
    tls = _TLS.get(dialect)
    spelled = {name.lower(): value.lower() for name, value in properties.items()}
    if tls is None or is_local(url):
        return True
    if dialect == "postgresql" and spelled.get("ssl") in {"", "true"} and "sslmode" not in spelled:
        return True
    return spelled.get(tls.name.lower(), "").startswith("verify") or (
        "sslmode" not in spelled and spelled.get("verifyservercertificate") == "true"
    )


def is_local(url: str) -> bool:
    """Whether all hosts of a JDBC URL are this machine.

    >>> is_local("jdbc:postgresql://localhost:5432,[::1]/shop"), is_local("jdbc:postgresql://db/shop")
    (True, False)
    """
    found = _HOSTS.match(url)
    hosts = found[1].split(",") if found else []
    return all(_is_loopback(re.sub(r":\d*$", "", host).strip("[]")) for host in hosts if host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
