"""The documentation as pages of HTML: guides, notebooks, a gallery of plots and the reference, by Sphinx.

page_sources.py       the source files of all pages: guides, front page, notebooks and lists of public names
reference.py          the public names by section, and their docstrings, as autodoc reads them
example_outputs.py    what examples in docstrings print and return
sphinx_transforms.py  links of names, signatures, and what browsers would stumble over
site_build.py         write_docs: runs Sphinx
conf.py             the settings of Sphinx
__main__.py         the command `python -m jaxrate.docs FOLDER`
"""
