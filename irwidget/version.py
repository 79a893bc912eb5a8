"""The version, which nothing else has to be imported for."""

VERSION = "0.1.0"
