"""Writes the service of the guide on live ratings to a file, with a journal in /data or the folder JAXRATE_DATA."""

import re
import sys
from pathlib import Path

import jaxrate

guide = Path(jaxrate.__file__).with_name("guides") / "service.md"
(code,) = re.findall(r"^```python\n(import sqlite3\n.*?)^```$", guide.read_text(encoding="utf-8"), re.M | re.S)
end = 'app = serve(os.path.join(os.environ.get("JAXRATE_DATA", "/data"), "results.sqlite"))\n'
Path(sys.argv[1]).write_text(f"import os\n\nimport jaxrate as jr\n\n{code}\n\n{end}", encoding="utf-8")
