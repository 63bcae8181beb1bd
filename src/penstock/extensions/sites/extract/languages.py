"""The language of a page: by what it says, checked against its letters and its commonest words.

Templates keep the language of whoever wrote them, so a page that says English and reads German is German.
"""

import re

from penstock.extensions.sites.extract.element import Element

_SAMPLE = 8000
_FEWEST_WORDS = 20
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_]|\s*$)")
# Words of one or few letters that stand in every text; none that two neighbours share equally often would help.
_COMMON = {
    "en": "the and of to in is that for it with as was on are by this be at from or an have you we not but they",
    "de": "der die das und ist nicht ein eine mit von zu den für auf im dem des sich auch wir sie bei aus nach wird",
    "fr": "le la les et des une est dans pour que qui sur pas avec au du nous vous sont ce par plus aux ou votre",
    "es": "el la los las y de que en un una es por con para se del al como más su no lo antes cada sus muy",
    "it": "il lo la gli le di che è un una per con del della si non sono dei nel alla come anche più ogni e",
    "pt": "o a os as e de que do da em um uma para com não é por no na dos se ao mais você sua pelo são",
    "nl": "de het een en van is in dat op te voor met niet zijn aan die ook bij wij u om er of uit naar dan",
    "pl": "i w na z do nie się jest to że jak o po za od przez dla są co lub ale przy oraz jej tylko ma",
    "tr": "ve bir bu için ile da de ne çok daha en gibi olarak olan sonra kadar var mı değil her ya aynı olur gün",
    "sv": "och att det som en på är av för med den till inte om ett har de vi du kan från eller så",
    "da": "og at det er en på til af for med den ikke som der de har vi du kan fra eller et jeg",
    "no": "og at det er en på til av for med den ikke som har vi du kan fra eller et jeg å etter blir",
    "fi": "ja on ei se että oli hän ovat mutta kun niin myös tai joka kuin sen ole vain mukaan sekä",
    "cs": "a se na je že v to s z o do i pro jako jsou ale by po za od které nebo jeho při už také",
    "sk": "a sa na je že v to s z o do aj pre ako sú ale by po za od ktoré alebo jeho pri už tiež",
    "hu": "a az és hogy nem is egy van meg de ez volt csak mint vagy már még kell lehet minden után",
    "ro": "și în de la cu nu pe care este un o mai din pentru sau că sunt au fi prin ce dar",
    "hr": "i u je na se da za su od s ne što kao ili bi koji nije iz po ali biti sve",
    "id": "dan yang di untuk dengan ini itu dari pada adalah tidak ke dalam akan atau juga kami anda bisa oleh",
    "vi": "và của là có cho không được trong một các với người này đã những khi để từ cũng về",
    "ru": "и в не на что с по это как для от из у к до за или при мы вы так же все его",
    "uk": "і в не на що з по це як для від із у до за або при ми ви так та його який",
    "bg": "и в не на че с по това как за от из към до или при ние вие така са се да",
    "ar": "في من على إلى أن عن مع هذا هذه التي الذي كان ما لا كل بعد",
    "fa": "و در به از که این را با است برای آن یک می خود تا شد",
}
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("ka", re.compile(r"[\u10a0-\u10ff]")),
    ("hy", re.compile(r"[\u0530-\u058f]")),
)
_WORDS = tuple((code, frozenset(words.split())) for code, words in _COMMON.items())
_KNOWN = frozenset((*_COMMON, *(code for code, _ in _SCRIPTS)))
# A language that was said is believed unless another fits the text this much better.
_MUCH_BETTER = 2.0


def language(page: Element, meta: dict[str, str], text: str) -> str | None:
    """As a code of two letters (three where there is none of two), without the country."""
    said = _said(page, meta)
    scores = _scores(text[:_SAMPLE])
    if not scores:
        return said
    best = max(scores, key=lambda code: (scores[code], code))
    if said is None or scores[best] > max(scores.get(said, 0.0), 0.01) * _MUCH_BETTER:
        return best if said is None or said in _KNOWN else said
    return said


def _said(page: Element, meta: dict[str, str]) -> str | None:
    declared = (page.attributes.get("lang"), page.attributes.get("xml:lang"), page.body.attributes.get("lang"))
    for given in (*declared, meta.get("og:locale"), meta.get("content-language"), meta.get("language")):
        if given and (found := _CODE.match(given)):
            return {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(found[1].lower(), found[1].lower())
    return None


def _scores(text: str) -> dict[str, float]:
    """The share of its words that are common ones of each language; for scripts of one language, of its letters."""
    letters = sum(map(str.isalpha, text)) or 1
    for code, script in _SCRIPTS:
        share = len(script.findall(text)) / letters
        # Japanese mixes kana into characters that Chinese has as well.
        if share > (0.1 if code == "ja" else 0.5):
            return {code: 1.0}
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < _FEWEST_WORDS:
        return {}
    shares = {code: sum(word in common for word in words) / len(words) for code, common in _WORDS}
    return {code: share for code, share in shares.items() if share > 0.05}
