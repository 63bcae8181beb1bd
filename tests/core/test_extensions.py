"""What an application takes over from an extension, and what it refuses as a whole."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from pydantic import Field

from penstock import Extension, Penstock, extras
from penstock import extension as extensions
from penstock.config import ExtensionSettings, load
from penstock.errors import InvalidDefinition, InvalidExtension, InvalidSetting, MissingExtra, UsageError
from penstock.events import Event, Events


class LettersSettings(ExtensionSettings, env_prefix="PENSTOCK_LETTERS_"):
    most: int = Field(3, ge=1, le=10)


def declare(app: Penstock) -> str:
    @app.task(name="letters.write")
    async def write() -> None: ...

    app.schedule("0 * * * *", write, name="letters.write")
    return "installed"


LETTERS = Extension(name="letters", install=declare, settings=LettersSettings)


def nothing_in(app: Penstock) -> bool:
    return not (app.extensions or app.pipelines or app.schedules or app.migrations)


def test_install_declares_and_answers_what_its_function_does():
    app = Penstock("shop", settings=load(letters_most=5))
    assert app.install(LETTERS) == "installed"
    assert (list(app.pipelines), list(app.schedules)) == (["letters.write"], ["letters.write"])
    assert app.pipelines["letters.write"].owner == "letters"
    assert app.settings.of(LettersSettings).most == 5


@pytest.mark.parametrize(
    ("extension", "said"),
    [
        (
            Extension(name="a", install="no.such.module:install"),
            "importing no.such.module:install failed: ModuleNotFound",
        ),
        (Extension(name="a", settings="penstock.config:NoSuchClass"), "importing penstock.config:NoSuchClass failed"),
        (
            Extension(name="a", events={"tasks.claimed": ("info", "mine")}),
            "its event 'tasks.claimed' belongs to Penstock",
        ),
        (Extension(name="letters"), "the application 'shop' already has an extension of that name"),
        (
            Extension(name="a", commands={"letters": ("", "")}),
            "its command 'letters' belongs to the extension 'letters'",
        ),
        (Extension(name="a", screens={"/letters": "Mine"}), "its screen '/letters' belongs to the extension 'letters'"),
    ],
)
def test_what_does_not_fit_beside_the_others_is_refused(extension: Extension, said: str):
    app = Penstock("shop")
    app.install(Extension(name="letters", commands={"letters": ("", "")}, screens={"/letters": "Letters"}))
    with pytest.raises(InvalidExtension) as refused:
        app.install(extension)
    assert str(refused.value).startswith(f"The extension {extension.name!r} cannot be installed: {said}")
    assert list(app.extensions) == ["letters"]


def test_of_an_install_that_fails_half_way_nothing_is_left():
    def half(app: Penstock) -> None:
        declare(app)
        raise OSError("the disk is gone")

    app = Penstock("shop")
    with pytest.raises(InvalidExtension, match="its install function failed: OSError: the disk is gone"):
        app.install(Extension(name="letters", install=half))
    assert nothing_in(app)


def test_an_install_that_fails_leaves_nothing_of_another_that_it_installed():
    from penstock.extensions import catalogue

    def outer(app: Penstock) -> None:
        app.install(catalogue.extension)
        app.install(Extension(name="stamps", events={"stamps.gone": ("warning", "no stamps are left")}))
        raise OSError("the disk is gone")

    heard: list[Event] = []
    app = Penstock("shop", events=Events([heard.append]))
    with pytest.raises(InvalidExtension, match="the disk is gone"):
        app.install(Extension(name="letters", install=outer))
    assert nothing_in(app)
    assert app.migrations == ()
    app.events.emit("stamps.gone")
    assert heard[0].level == "info", "as of an event that nobody declared"


def test_two_extensions_with_a_task_of_one_name_are_refused_and_the_first_stays():
    app = Penstock("shop")
    app.install(LETTERS)
    with pytest.raises(InvalidDefinition, match=r"'letters\.write'.*another one of that name"):
        app.install(Extension(name="parcels", install=declare))
    assert list(app.extensions) == ["letters"]


def test_an_invalid_setting_is_named_at_once():
    app = Penstock("shop", settings=load(letters_most=11))
    with pytest.raises(InvalidSetting, match=r"PENSTOCK_LETTERS_MOST = 11 .* a whole number from 1 to 10"):
        app.install(LETTERS)
    assert nothing_in(app)


def test_settings_that_penstock_has_itself_are_refused():
    with pytest.raises(InvalidDefinition, match="Penstock itself has a setting 'runners'"):

        class Mine(ExtensionSettings, env_prefix="PENSTOCK_"):
            runners: int = 1


def test_an_extension_for_a_newer_penstock_names_both_versions():
    with pytest.raises(InvalidExtension, match=r"it needs Penstock 99\.1 or newer, and this is"):
        Extension(name="letters", requires="99.1")


def test_an_invalid_name_is_refused():
    with pytest.raises(InvalidExtension, match="lower case letters"):
        Extension(name="My Letters")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "penstock"}, "lower case letters"),
        ({"name": "a", "extra": "nonsense"}, "Penstock has no extra 'nonsense'; it has all, articles, catalogue"),
        (
            {"name": "a", "events": {"a.b": ("loud", "x")}},
            "its event 'a.b' has the level 'loud'; use one of debug, info",
        ),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(given: dict[str, Any], said: str):
    with pytest.raises(InvalidExtension, match=said):
        Extension(**given)


def test_a_setting_of_another_extension_is_refused():
    class Theirs(ExtensionSettings, env_prefix="PENSTOCK_LETTERS_"):
        most: int = 7

    app = Penstock("shop")
    app.install(LETTERS)
    with pytest.raises(InvalidExtension, match="its setting 'letters_most' belongs to the extension 'letters'"):
        app.install(Extension(name="parcels", settings=Theirs))
    assert list(app.extensions) == ["letters"]


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extras, "installed", lambda extra: False)
    app = Penstock("shop")
    with pytest.raises(MissingExtra, match=r"pip install 'penstock\[sites\]'"):
        app.install(Extension(name="letters", extra="sites"))
    assert nothing_in(app)


def test_only_an_extension_can_be_installed():
    from penstock.extensions import articles

    wrong: Any = articles
    with pytest.raises(UsageError, match=r"takes a penstock\.Extension, not a module"):
        Penstock("shop").install(wrong)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("letters", "no.such:extension")], "importing no.such:extension of no.such:extension failed: ModuleNotFound"),
        (
            [("letters", "penstock.config:PREFIX")],
            "penstock.config:PREFIX of .* is not a penstock.Extension of that name",
        ),
        (
            [("letters", "a:b"), ("letters", "c:d")],
            "a:b and c:d provide an extension of this name; uninstall one of them",
        ),
    ],
)
def test_what_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch, entries: list[tuple[str, str]], said: str):
    found = [EntryPoint(name, value, extensions.GROUP) for name, value in entries]
    monkeypatch.setattr(extensions, "entry_points", lambda group: found)
    with pytest.raises(InvalidExtension, match=said):
        extensions.discovered()
    assert extensions.declared_settings() == []


def test_a_broken_package_hides_no_settings_of_others(monkeypatch: pytest.MonkeyPatch):
    found = [EntryPoint("broken", "no.such:extension", extensions.GROUP)]
    found.append(EntryPoint("sites", "penstock.extensions.sites:extension", extensions.GROUP))
    monkeypatch.setattr(extensions, "entry_points", lambda group: found)
    assert [kind.__name__ for kind in extensions.declared_settings()] == ["SitesSettings"]


def test_events_of_an_extension_have_their_level_and_touch_what_they_say():
    heard: list[Event] = []
    app = Penstock("shop")
    app.install(Extension(name="letters", events={"letters.lost": ("error", "")}, touches={"letters.lost": "letter"}))
    app.use(load(), Events([heard.append]))
    app.events.emit("letters.lost", letter=1)
    assert [(one.name, one.level, one.touches) for one in heard] == [("letters.lost", "error", "letter")]
