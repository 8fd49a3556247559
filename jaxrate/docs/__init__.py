"""The documentation as pages of HTML: guides, notebooks, a gallery of plots and the reference, by Sphinx.

page_sources.py     the source files of all pages: guides, front page, notebooks and lists of public names
notebook_pages.py   the notebooks, and their list with first pictures and findings
reference.py        the public names by section, and the pages that list them
docstrings.py       docstrings in Markdown, as autodoc reads them, with fields and examples
example_outputs.py  what examples in docstrings print and return
site_build.py       write_docs: runs Sphinx, and lists the versions that lie beside each other
conf.py             the settings of Sphinx
__main__.py         the command `python -m jaxrate.docs FOLDER`
"""
