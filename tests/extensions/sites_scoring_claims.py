"""Sentences that a model could say of the invented sites, and whether the site says so too."""

from tests.extensions.sites_scoring_pairs import BICYCLES, DENTIST, GUESTHOUSE, LEDGER, Site

# (site, claim, supported)
TUNING: tuple[tuple[Site, str, bool], ...] = (
    (BICYCLES, "Quillfeather Cycles is a family-run workshop with six mechanics.", True),
    (BICYCLES, "Quillfeather Cycles has repaired bicycles since 1998.", True),
    (BICYCLES, "Quillfeather Cycles has repaired bicycles since 1975.", False),
    (BICYCLES, "Quillfeather Cycles rents touring bikes by the day.", True),
    (BICYCLES, "Quillfeather Cycles also repairs electric bikes and their batteries.", True),
    (BICYCLES, "Quillfeather Cycles sells motorbikes and scooters.", False),
    (BICYCLES, "A full service at Quillfeather Cycles costs 79 euros.", True),
    (BICYCLES, "A full service at Quillfeather Cycles costs 49 euros.", False),
    (BICYCLES, "Quillfeather Cycles does not rent touring bikes.", False),
    (BICYCLES, "Quillfeather Cycles gives a guarantee of twelve months on repairs.", True),
    (BICYCLES, "Quillfeather Cycles has won several national awards.", False),
    (BICYCLES, "Quillfeather Cycles leads guided tours through the mountains.", False),
    (LEDGER, "Tallywren is bookkeeping software aimed at small firms.", True),
    (LEDGER, "Tallywren stores its data in Norway and encrypts it.", True),
    (LEDGER, "Tallywren can be tried for 30 days without a credit card.", True),
    (LEDGER, "Tallywren has a mobile app for phones and tablets.", False),
    (LEDGER, "Tallywren exports to CSV, XLSX and PDF.", True),
    (LEDGER, "Tallywren was bought by a large bank in 2021.", False),
    (LEDGER, "The Team plan of Tallywren costs 29 dollars a month.", True),
    (LEDGER, "Tallywren connects with payroll, web shops and forty banks.", True),
    (LEDGER, "Tallywren has its seat in Canada and employs 300 people.", False),
    (LEDGER, "Tallywren has been criticised for losing invoices.", False),
)
HELD_OUT: tuple[tuple[Site, str, bool], ...] = (
    (DENTIST, "Larkmoor Dental Practice treats both adults and children.", True),
    (DENTIST, "Larkmoor Dental Practice offers teeth whitening from 180 pounds.", True),
    (DENTIST, "Larkmoor Dental Practice is open on weekdays until 17:30.", True),
    (DENTIST, "Larkmoor Dental Practice specialises in orthodontics and braces.", False),
    (DENTIST, "Larkmoor Dental Practice has branches across the county.", False),
    (DENTIST, "Larkmoor Dental Practice is led by Dr. Imre Vost and Dr. Hedda Quarn.", True),
    (DENTIST, "Larkmoor Dental Practice treats nervous patients under sedation.", True),
    (DENTIST, "A check-up at Larkmoor Dental Practice costs 95 pounds.", False),
    (GUESTHOUSE, "Der Gasthof Eschengrund hat zwölf Zimmer mit Balkon.", True),
    (GUESTHOUSE, "Ein Doppelzimmer im Gasthof Eschengrund kostet 98 Euro.", True),
    (GUESTHOUSE, "Der Gasthof Eschengrund bietet eine Sauna und ein Schwimmbad.", False),
    (GUESTHOUSE, "Hunde sind im Gasthof Eschengrund willkommen.", True),
    (GUESTHOUSE, "Der Gasthof Eschengrund wurde 1820 gegründet.", False),
    (GUESTHOUSE, "Hunde sind im Gasthof Eschengrund nicht willkommen.", False),
)
