"""Small invented sites with questions, and the sentences that answer them: what the thresholds were set by.

Three sites the numbers were set with, three that are only measured. A question without a sentence is
one that the site does not answer, mostly a near miss: the topic is there, the answer is not.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    name: str
    language: str
    place: str
    # (heading, its sentences)
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    # question → numbers of the sentences that answer it, counted over all sections from 0
    questions: dict[str, tuple[int, ...]]

    @property
    def sentences(self) -> list[str]:
        return [sentence for _, sentences in self.sections for sentence in sentences]


BICYCLES = Site(
    name="Quillfeather Cycles",
    place="Harrowmere",
    language="en",
    sections=(
        (
            "About us",
            (
                "Quillfeather Cycles has been repairing bicycles in Harrowmere since 1998.",  # 0
                "We are a family business with six mechanics.",
                "Every bicycle gets a safety check before it leaves the workshop.",
            ),
        ),
        (
            "Services",
            (
                "A full service costs 79 euros and takes two working days.",  # 3
                "We repair electric bicycles of all makes, including their batteries.",
                "Punctures are mended while you wait.",
                "You can rent touring bikes from 18 euros a day.",
            ),
        ),
        (
            "Visit us",
            (
                "Our workshop is at 12 Canal Street in Harrowmere, next to the old mill.",  # 7
                "We are open Monday to Friday from 9 am to 6 pm and on Saturday until 1 pm.",
                "Call 555 0142 or write to workshop@quillfeather.example.",
                "We take back used bicycles in part exchange for a new one.",
                "All repairs come with a guarantee of twelve months.",
            ),
        ),
    ),
    questions={
        "How much does a full bicycle service cost?": (3,),
        "How long does a service take?": (3,),
        "Who repairs electric bikes in Harrowmere?": (4, 0),
        "Can I rent a touring bike?": (6,),
        "What does it cost to rent a bike for a day?": (6,),
        "When is Quillfeather Cycles open?": (8,),
        "Where is the workshop of Quillfeather Cycles?": (7,),
        "How can I contact Quillfeather Cycles?": (9,),
        "Is there a guarantee on repairs?": (11,),
        "Can a flat tyre be fixed while I wait?": (5,),
        "Can I trade in my old bicycle?": (10,),
        "How long has Quillfeather Cycles been in business?": (0,),
        "How much does a new electric bicycle cost?": (),
        "Do you repair motorcycles?": (),
        "Does Quillfeather Cycles deliver bicycles to my home?": (),
        "What does a battery replacement cost?": (),
        "Are dogs allowed in the shop?": (),
        "Which insurance covers bicycle theft?": (),
        "Do you offer courses on bicycle repair?": (),
    },
)

BAKERY = Site(
    name="Bäckerei Sonnhalde",
    place="Niederauendorf",
    language="de",
    sections=(
        (
            "Über uns",
            (
                "Die Bäckerei Sonnhalde backt seit 1954 Brot aus Sauerteig in Niederauendorf.",  # 0
                "Unser Mehl kommt von drei Höfen aus der Region.",
                "Alle Teige ruhen mindestens 24 Stunden.",
            ),
        ),
        (
            "Sortiment",
            (
                "Ein Roggenbrot von einem Kilo kostet 5,40 Euro.",  # 3
                "Glutenfreies Brot backen wir jeden Donnerstag auf Bestellung.",
                "Torten für Hochzeiten fertigen wir nach Ihren Wünschen an.",
                "Vegane Kuchen gibt es täglich in zwei Sorten.",
            ),
        ),
        (
            "Besuch",
            (
                "Sie finden uns am Marktplatz 3 in Niederauendorf.",  # 7
                "Wir haben Dienstag bis Samstag von 6 bis 13 Uhr geöffnet.",
                "Bestellungen nehmen wir unter 0555 0177 oder per E-Mail an.",
                "Ab 30 Euro liefern wir im Umkreis von zehn Kilometern kostenlos.",
            ),
        ),
    ),
    questions={
        "Was kostet ein Roggenbrot?": (3,),
        "Gibt es bei der Bäckerei Sonnhalde glutenfreies Brot?": (4,),
        "Wer macht Hochzeitstorten in Niederauendorf?": (5,),
        "Wann hat die Bäckerei Sonnhalde geöffnet?": (8,),
        "Wo ist die Bäckerei Sonnhalde?": (7, 0),
        "Liefert die Bäckerei Sonnhalde nach Hause?": (10,),
        "Woher kommt das Mehl?": (1,),
        "Welche veganen Kuchen gibt es?": (6,),
        "Wie kann ich bei der Bäckerei Sonnhalde bestellen?": (9, 4),
        "Wie lange ruht der Teig?": (2,),
        "Was kostet eine Hochzeitstorte?": (),
        "Kann man in der Bäckerei frühstücken?": (),
        "Bietet die Bäckerei Sonnhalde Backkurse an?": (),
        "Gibt es Parkplätze?": (),
        "Verkauft die Bäckerei Eis?": (),
    },
)

LEDGER = Site(
    name="Tallywren",
    place="",
    language="en",
    sections=(
        (
            "Bookkeeping for small firms",
            (
                "Tallywren is bookkeeping software for firms with up to fifty people.",  # 0
                "Invoices are read from photos and matched with your bank statement.",
                "Your data is stored in two data centres in Norway and encrypted at rest.",
            ),
        ),
        (
            "Plans",
            (
                "The Starter plan costs 9 dollars a month and includes one user.",  # 3
                "The Team plan is 29 dollars a month for up to ten users.",
                "You can try every plan for 30 days without a credit card.",
                "Cancel at any time; you pay until the end of the month.",
            ),
        ),
        (
            "Help",
            (
                "Our support answers by e-mail and chat within four hours on working days.",  # 7
                "Exports are possible as CSV, XLSX and PDF.",
                "Connections exist for payroll, web shops and forty banks.",
                "Accountants get free access to the books of their clients.",
            ),
        ),
    ),
    questions={
        "How much does Tallywren cost per month?": (3, 4),
        "How many users does the Team plan include?": (4,),
        "Is there a free trial of Tallywren?": (5,),
        "Can I cancel my Tallywren subscription at any time?": (6,),
        "Where does Tallywren store my data?": (2,),
        "What is Tallywren?": (0,),
        "Which bookkeeping software suits small firms?": (0,),
        "Can I export my data to Excel or CSV?": (8,),
        "How quickly does support answer?": (7,),
        "Can my accountant use Tallywren?": (10,),
        "Does Tallywren read invoices from photos?": (1,),
        "Does Tallywren have an app for phones?": (),
        "Is Tallywren available in Japanese?": (),
        "Who founded Tallywren?": (),
        "Does Tallywren file tax returns?": (),
        "How does Tallywren compare with spreadsheets?": (),
        "Is there a discount for charities?": (),
    },
)

DENTIST = Site(
    name="Larkmoor Dental Practice",
    place="Pellworth",
    language="en",
    sections=(
        (
            "Your dentists in Pellworth",
            (
                "Larkmoor Dental Practice treats adults and children in Pellworth.",  # 0
                "Dr. Imre Vost and Dr. Hedda Quarn lead the practice.",
                "We speak English, Polish and Portuguese.",
            ),
        ),
        (
            "Treatments",
            (
                "A check-up with X-ray costs 55 pounds.",  # 3
                "Implants are placed under local anaesthetic in a single visit.",
                "Teeth whitening starts at 180 pounds.",
                "Nervous patients can be treated under sedation.",
            ),
        ),
        (
            "Appointments",
            (
                "Book online or ring 555 0119.",  # 7
                "Emergency appointments are kept free every morning.",
                "The practice is open on weekdays between 8:00 and 17:30.",
                "There is step-free access and a lift to the second floor.",
                "You can pay in monthly instalments without interest.",
            ),
        ),
    ),
    questions={
        "How much is a dental check-up?": (3,),
        "What does teeth whitening cost in Pellworth?": (5,),
        "Does Larkmoor Dental Practice treat children?": (0,),
        "Can I get an emergency dentist appointment?": (8,),
        "What are the opening hours of Larkmoor Dental Practice?": (9,),
        "Is the practice accessible for wheelchair users?": (10,),
        "How do I book an appointment?": (7,),
        "Can I pay in instalments?": (11,),
        "Do you offer sedation for anxious patients?": (6,),
        "Which languages do the dentists speak?": (2,),
        "Who are the dentists at Larkmoor Dental Practice?": (1,),
        "How much does an implant cost?": (),
        "Do you fit braces?": (),
        "Where can I park?": (),
        "Does Larkmoor Dental Practice sell electric toothbrushes?": (),
        "Is the practice open on Sunday?": (9,),
        "Which dentist offers acupuncture?": (),
    },
)

GUESTHOUSE = Site(
    name="Gasthof Eschengrund",
    place="Oberfinkenthal",
    language="de",
    sections=(
        (
            "Willkommen",
            (
                "Der Gasthof Eschengrund liegt am Waldrand von Oberfinkenthal.",  # 0
                "Unsere zwölf Zimmer haben alle einen Balkon.",
                "Hunde sind bei uns für 8 Euro pro Nacht willkommen.",
            ),
        ),
        (
            "Zimmer und Preise",
            (
                "Ein Doppelzimmer mit Frühstück kostet 98 Euro.",  # 3
                "Kinder unter sechs Jahren übernachten kostenlos.",
                "Die Anreise ist ab 15 Uhr möglich.",
            ),
        ),
        (
            "Küche",
            (
                "Die Küche serviert von 12 bis 20 Uhr Wild aus eigener Jagd.",  # 6
                "Vegetarische Gerichte stehen jeden Tag auf der Karte.",
                "Im Festsaal feiern bis zu 80 Gäste.",
                "Ein Parkplatz und zwei Ladestationen stehen vor dem Haus.",
            ),
        ),
    ),
    questions={
        "Was kostet ein Doppelzimmer im Gasthof Eschengrund?": (3,),
        "Sind Hunde erlaubt?": (2,),
        "Ab wann kann man anreisen?": (5,),
        "Gibt es vegetarisches Essen?": (7,),
        "Kann man im Gasthof Eschengrund Hochzeit feiern?": (8,),
        "Wo liegt der Gasthof Eschengrund?": (0,),
        "Gibt es Parkplätze am Gasthof?": (9,),
        "Wann ist die Küche geöffnet?": (6,),
        "Gibt es eine Sauna?": (),
        "Was kostet ein Einzelzimmer?": (),
        "Kann man Fahrräder leihen?": (),
        "Wie weit ist es zum Bahnhof?": (),
    },
)

GARDEN = Site(
    name="Pépinière Valbrume",
    place="Saint-Orvel",
    language="fr",
    sections=(
        (
            "La pépinière",
            (
                "La Pépinière Valbrume cultive des rosiers anciens à Saint-Orvel.",  # 0
                "Nos plantes poussent sans pesticides.",
                "Nous expédions les rosiers à racines nues de novembre à mars.",
            ),
        ),
        (
            "Infos pratiques",
            (
                "Un rosier en pot coûte à partir de 19 euros.",  # 3
                "La pépinière est ouverte du mardi au samedi de 9 h à 18 h.",
                "Des ateliers de taille ont lieu chaque premier samedi du mois.",
                "Les groupes peuvent visiter la roseraie sur rendez-vous.",
            ),
        ),
    ),
    questions={
        "Combien coûte un rosier en pot ?": (3,),
        "Quand la pépinière est-elle ouverte ?": (4,),
        "Où acheter des rosiers anciens à Saint-Orvel ?": (0,),
        "Peut-on visiter la roseraie en groupe ?": (6,),
        "Y a-t-il des ateliers de taille ?": (5,),
        "La pépinière utilise-t-elle des pesticides ?": (1,),
        "La pépinière vend-elle des oliviers ?": (),
        "Combien coûte un atelier ?": (),
        "Y a-t-il un restaurant sur place ?": (),
    },
)

TUNING = (BICYCLES, BAKERY, LEDGER)
HELD_OUT = (DENTIST, GUESTHOUSE, GARDEN)
