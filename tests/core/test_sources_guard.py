"""What a reference may touch."""

import asyncio
import ipaddress
import os
from pathlib import Path

import pytest

from penstock.console.files.refused import FileRefused
from penstock.console.files.sources.guard import HostRefused, allowed_path, checked_host, file_chunks, is_public
from penstock.console.files.sources.source import Wanted
from penstock.console.storage.sources import NewSource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.csv").write_bytes(b"name\nchair\n")
    (tmp_path / "secret.csv").write_bytes(b"secret")
    return folder


async def test_a_file_in_a_root_is_read(root: Path) -> None:
    path = allowed_path(str(root / "a.csv"), [root])
    assert b"".join([chunk async for chunk in file_chunks(path)]) == b"name\nchair\n"


async def test_a_large_file_comes_in_pieces(root: Path) -> None:
    (root / "b.csv").write_bytes(b"x" * (3 * 1024 * 1024 + 1))
    sizes = [len(chunk) async for chunk in file_chunks(allowed_path(str(root / "b.csv"), [root]))]
    assert sizes == [1024 * 1024] * 3 + [1]


def test_without_roots_every_reference_is_refused(root: Path) -> None:
    with pytest.raises(FileRefused, match="not taken here"):
        allowed_path(str(root / "a.csv"), [])


@pytest.mark.parametrize(
    "reference",
    ["{root}/../secret.csv", "{root}/link.csv", "{root}/out/secret.csv", "/etc/passwd", "a.csv", "", "{root}",
     "{root}/none.csv", "{root}/pipe", "{root}/a.csv\0", "{root}2/a.csv", "/proc/self/environ", "{root}/loop",
     "{root}/\udcff"],
)  # fmt: skip
def test_what_is_not_a_file_of_a_root_is_refused(root: Path, reference: str) -> None:
    (root / "link.csv").symlink_to(root.parent / "secret.csv")
    (root / "out").symlink_to(root.parent)
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    (root.parent / "root2").mkdir()
    (root.parent / "root2" / "a.csv").write_bytes(b"beside")
    with pytest.raises(FileRefused, match="no file in one of the allowed folders"):
        allowed_path(reference.format(root=root), [root])


def test_a_link_inside_of_the_roots_is_followed_to_its_file(root: Path) -> None:
    (root / "link.csv").symlink_to(root / "a.csv")
    assert allowed_path(root / "link.csv", [root]) == (root / "a.csv").resolve()


async def test_a_file_exchanged_for_a_link_after_the_check_is_not_read(root: Path) -> None:
    path = allowed_path(root / "a.csv", [root])
    path.unlink()
    path.symlink_to(root.parent / "secret.csv")
    with pytest.raises(FileRefused, match="cannot be opened"):
        _ = [chunk async for chunk in file_chunks(path)]


async def test_a_folder_exchanged_for_a_link_after_the_check_is_not_followed(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "secret.csv").write_bytes(b"ours")
    path = allowed_path(root / "sub" / "secret.csv", [root])
    (root / "sub").rename(root / "old")
    (root / "sub").symlink_to(root.parent)
    with pytest.raises(FileRefused, match="cannot be opened"):
        _ = [chunk async for chunk in file_chunks(path)]


async def test_a_pipe_in_the_place_of_the_file_does_not_hold_us_up(root: Path) -> None:
    path = allowed_path(root / "a.csv", [root])
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(FileRefused, match="cannot be opened"):
        _ = [chunk async for chunk in file_chunks(path)]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "10.0.0.1",
     "012.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "0xa9fea9fe", "100.100.100.200", "168.63.129.16",
     "192.0.0.192", "3221225664", "fec0::1",
     "224.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
     "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::", "fe80::1", "fd00:ec2::254", "fc00::1",
     "ff02::1"],
)  # fmt: skip
async def test_an_address_of_ours_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(HostRefused):
        await checked_host(host, False)


@pytest.mark.parametrize("host", ["", "no host", "a\0b", "x" * 300, "exa_mple..com", "[::1]", "http://127.0.0.1"])
async def test_what_is_no_host_is_refused_also_where_private_ones_may_be_reached(host: str) -> None:
    with pytest.raises(HostRefused):
        await checked_host(host, True)


async def test_public_addresses_pass_and_private_ones_where_they_may() -> None:
    assert await checked_host("93.184.216.34", False) == "93.184.216.34"
    assert await checked_host("2606:4700:4700::1111", False) == "2606:4700:4700::1111"
    assert await checked_host("2130706433", True) == "127.0.0.1"


async def test_one_private_address_among_several_refuses_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answers(*_values: object, **_options: object) -> list[object]:
        return [(2, 1, 6, "", ("93.184.216.34", 0)), (2, 1, 6, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answers)
    with pytest.raises(HostRefused, match=r"10\.0\.0\.1"):
        await checked_host("two.example", False)


def test_an_address_is_judged_by_the_one_it_carries() -> None:
    assert is_public(ipaddress.ip_address("2002:5db8:d822::"))
    assert not is_public(ipaddress.ip_address("2001:0:7f00:1::"))


@pytest.mark.parametrize(
    ("pattern", "path", "taken"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "a.CSV", False),
        ("*.csv", "sub/a.csv", False),
        ("*/*.csv", "sub/a.csv", True),
        ("**/*.csv", "a.csv", True),
        ("**/*.csv", "x/y/a.csv", True),
        ("in/**/a.csv", "in/x/a.csv", True),
        ("in/**/a.csv", "out/x/a.csv", False),
        ("*", ".hidden", False),
        ("**/*", ".git/config", False),
        ("**/*.csv", "done/a.csv", False),
        ("a[0-9].csv", "a7.csv", True),
    ],
)
def test_patterns_take_what_they_say(pattern: str, path: str, taken: bool) -> None:
    source = NewSource(
        name="x", kind="folder", place={}, owner="a", pipeline="p", created_by="r", pattern=pattern,
        after="move", target="done",
    )  # fmt: skip
    assert Wanted(source)(path) is taken
