"""The documentation as pages of HTML: guides, notebooks, a gallery of plots and the reference, by Sphinx.

page_sources.py     the source files of all pages: front page, guides, notebooks, and lists of public names
docstrings.py       docstrings and signatures, as autodoc reads them, and links of the names in all pages
example_outputs.py  what examples in docstrings print and return
conf.py             the settings of Sphinx
__main__.py         write_docs, and the command `python -m jaxrate.docs FOLDER`
"""
