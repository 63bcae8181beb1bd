"""Whether a host, as it is written, belongs to our own network: where plain http is fit for texts and keys. Pure."""

import ipaddress

_LOCAL_ENDINGS = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa")


def is_own_network(host: str) -> bool:
    """By address, or by a name that no public name server answers for: one label, or a local ending."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        name = host.casefold().rstrip(".")
        return bool(name) and ("." not in name or name.endswith(_LOCAL_ENDINGS))
    return address.is_private or address.is_loopback or address.is_link_local
