"""What is sent to the browser as JSON, as types: `npm --prefix js run schema` makes js/src/schema of them.

A name that is a keyword of Python ends with an underscore here, and has none in JSON.
"""
