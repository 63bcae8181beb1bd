"""Countries under the names and codes that datasets use, so that "Deutschland" meets "Germany"."""

from penstock.extensions.linking.scoring.folding import plain

_NAMES = """
argentina|ar|arg|argentinien|argentine
australia|au|aus|australien|australie
austria|at|aut|osterreich|autriche|oesterreich
belgium|be|bel|belgien|belgique|belgie
brazil|br|bra|brasilien|bresil|brasil
canada|ca|can|kanada
chile|cl|chl|chili
china|cn|chn|people's republic of china|chine|volksrepublik china
czech republic|cz|cze|czechia|tschechien|ceska republika
denmark|dk|dnk|danemark|danmark
egypt|eg|egy|agypten|egypte
finland|fi|fin|finnland|finlande|suomi
france|fr|fra|frankreich|francia
germany|de|deu|ger|deutschland|allemagne|alemania|germania|federal republic of germany
greece|gr|grc|griechenland|grece|hellas
hungary|hu|hun|ungarn|hongrie|magyarorszag
india|in|ind|indien|inde
ireland|ie|irl|irland|irlande|republic of ireland
israel|il|isr
italy|it|ita|italien|italie|italia
japan|jp|jpn|japon|日本
kenya|ke|ken|kenia
mexico|mx|mex|mexiko|mexique
netherlands|nl|nld|niederlande|pays-bas|nederland|holland|kingdom of the netherlands
new zealand|nz|nzl|neuseeland
nigeria|ng|nga
norway|no|nor|norwegen|norvege|norge
peru|pe|per|perou
poland|pl|pol|polen|pologne|polska
portugal|pt|prt
russia|ru|rus|russian federation|russland|russie|россия
south africa|za|zaf|sudafrika
south korea|kr|kor|republic of korea|sudkorea|대한민국
spain|es|esp|spanien|espagne|espana
sweden|se|swe|schweden|suede|sverige
switzerland|ch|che|schweiz|suisse|svizzera
turkey|tr|tur|turkiye|turkei|turquie
ukraine|ua|ukr|україна
united kingdom|gb|uk|gbr|great britain|vereinigtes konigreich|royaume-uni
united states|us|usa|u.s.|u.s.a.|united states of america|vereinigte staaten|etats-unis|estados unidos
"""

_BY_NAME = {name: line.partition("|")[0] for line in _NAMES.split("\n") for name in line.split("|") if name}


def country(text: str) -> str | None:
    """Its English name, if it is one of the list."""
    return _BY_NAME.get(plain(text).strip())
