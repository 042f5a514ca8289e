"""Which machines a webhook may reach: the whole internet by name, a private network only where the admin's address says so itself."""

import ipaddress
import socket
from urllib.parse import SplitResult

PRIVATE_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Refused(Exception):
    """The address is not one to connect to."""


def pinned(parts: SplitResult) -> str:
    """The one IP address to connect to. Raises Refused with the reason.

    Every address of the name is checked and the first is used, so that a name cannot mean another machine a moment later.
    """
    host = parts.hostname or ""
    private = says_private(host)
    if parts.scheme != "https" and not private:
        raise Refused("only an address that is private by its own words is reached without https")
    found = [ipaddress.ip_address(one) for one in _resolved(host, parts.port or (443 if parts.scheme == "https" else 80))]
    for one in found:
        if not _allowed(one, private=private):
            raise Refused(f"{host} leads to a machine that is not on the internet")
    return str(found[0])


def says_private(host: str) -> bool:
    """Whether the host is a private address, or a name that only a private network has."""
    try:
        return not _public(ipaddress.ip_address(host))
    except ValueError:
        name = host.rstrip(".").lower()
        return "." not in name or name.endswith(PRIVATE_NAMES)


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Refused(f"{host} cannot be found") from None
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def _allowed(address: Address, *, private: bool) -> bool:
    """A machine's own metadata service (link-local) is never meant, whatever the address says."""
    plain = _unwrapped(address)
    return not plain.is_link_local and not plain.is_multicast and not plain.is_unspecified and (private or _public(plain))


def _public(address: Address) -> bool:
    return _unwrapped(address).is_global


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for."""
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo[1] if address.teredo else None
        return address.ipv4_mapped or address.sixtofour or teredo or address
    return address
