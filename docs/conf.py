"""How the documentation is built: MyST pages, the furo theme, nothing fetched from outside."""

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Resource provisioner"
version = release = _PROJECT["version"]

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["examples/**"]

html_theme = "furo"
html_title = f"{project} {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
