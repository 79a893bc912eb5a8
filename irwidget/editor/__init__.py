"""A custom pipeline under edit: its steps as data, what a page may ask of them, and the widget that runs them.

`irwidget.Pipeline` is its face. It stands above `lower`, which it calls, and above the views, one of which it shows.
"""
