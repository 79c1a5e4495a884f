# SPDX-License-Identifier: GPL-2.0-only
"""As much of PySide2 as perf's export-to-sqlite.py asks for: Debian 13 has no PySide2."""
