"""Reads what other compilers print and write: logs, folders, traces. Readers come in by `irwidget.readers`."""
