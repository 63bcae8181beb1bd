"""Words that stand on every website and that nobody asks for: labels of menus, articles, words between two others."""

from penstock.apps.website_analysis.prompts.phrase import fold

# What menus and headings say on sites of all sorts, in the languages of the templates.
_LABELS = """
home, homepage, start, welcome, about, about us, who we are, our story, our team, team, contact, contact us,
get in touch, find us, visit us, where to find us, opening hours, hours, news, blog, faq, questions, imprint,
legal notice, privacy,
privacy policy, terms, terms and conditions, cookies, login, log in, sign in, register, search, menu, services,
our services, products, our products, prices, our prices, shop, cart, checkout, gallery, reviews, testimonials, careers,
jobs, links, more, read more, learn more, newsletter, sitemap, follow us, overview, details, page not found,
startseite, willkommen, ueber uns, uber uns, wir ueber uns, kontakt, impressum, datenschutz, agb, oeffnungszeiten,
offnungszeiten, aktuelles, neuigkeiten, leistungen, unsere leistungen, produkte, preise, anfahrt, karriere, suche, mehr,
accueil, bienvenue, a propos, qui sommes nous, notre equipe, nous contacter, mentions legales, horaires, actualites,
nos services, produits, nos produits, tarifs, panier, recherche, en savoir plus,
inicio, bienvenidos, sobre nosotros, quienes somos, contacto, aviso legal, horario, noticias, servicios, productos,
precios, tienda, buscar, leer mas, inicio sesion,
benvenuti, chi siamo, contatti, note legali, orari, notizie, servizi, i nostri servizi, prodotti, prezzi, negozio,
cerca,
welkom, over ons, contacteer ons, openingstijden, nieuws, diensten, producten, prijzen, winkel, zoeken, lees meer,
bem vindo, sobre nos, quem somos, contactos, contato, contacto, horarios, servicos, produtos, precos, loja, pesquisar,
strona glowna, o nas, kontakt, aktualnosci, uslugi, produkty, cennik, sklep, szukaj, polityka prywatnosci
"""
LABELS = frozenset(fold(label) for label in _LABELS.replace("\n", " ").split(","))
ARTICLES = frozenset(
    fold("a an the ein eine einen der die das den un une le la les el los las il lo gli uno una een het um uma").split(
        " "
    )
)


def nobody_asks(text: str) -> bool:
    return fold(text) in LABELS


def with_small_article(text: str) -> str:
    """A heading begins with a capital; inside a question its article does not."""
    first, space, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if space and first.lower() in ARTICLES else text


def without_article(folded: str) -> str:
    first, space, rest = folded.partition(" ")
    return rest if space and first in ARTICLES else folded
