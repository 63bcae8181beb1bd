"""Letters that are written in the background: the extension of docs/extensions.md."""

from penstock import Extension

extension = Extension(
    name="letters",
    install="penstock_letters.writing:install",
    migrations="penstock_letters",
    settings="penstock_letters.settings:LettersSettings",
    events={"letters.written": ("info", "a letter was written")},
    touches={"letters.written": "letter"},
    router="penstock_letters.api:router",
    commands={"letters": ("Write letters, and count them.", "penstock_letters.commands")},
    screens={"/letters": "Letters"},
    requires="0.1",
)
