"""The systems by their names in print, and where they come from."""

SYSTEM_TITLES = {
    "elo": ("Elo", "Elo 1978"),
    "glicko": ("Glicko", "Glickman 1999"),
    "glicko2": ("Glicko-2", "Glickman 2012"),
    "category_glicko": ("Glicko with categories", ""),
    "skills": ("Skills", "the system of jaxrate"),
    "blat_mmr": ("BlatMMR", ""),
    "elo_mmr": ("Elo-MMR", "Ebtekar and Liu 2021"),
    "elo_mmx": ("Elo-MMX", "Ebtekar and Liu 2021"),
    "codeforces": ("Codeforces", "in the form of Ebtekar and Liu 2021"),
    "topcoder": ("TopCoder", "in the form of Ebtekar and Liu 2021"),
    "trueskill": ("TrueSkill", "Herbrich, Minka and Graepel 2006"),
    "weng_lin": ("Weng-Lin", "Weng and Lin 2011"),
    "urnings": ("Urnings", ""),
}


def system_title(name: str) -> str:
    """The name of a system in print; its own name for one that jaxrate does not know."""
    return SYSTEM_TITLES.get(name, (name, ""))[0]


def describe_system(name: str) -> str:
    """The name of a system in print and where it comes from, as "Glicko-2 (Glickman 2012)"."""
    title, origin = SYSTEM_TITLES.get(name, (name, ""))
    return f"{title} ({origin})" if origin else title
