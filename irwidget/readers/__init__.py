"""Reads what other compilers print and write: logs, folders, traces. A reader is an object behind `irwidget.readers`."""
