"""How everything made looks: fonts, numbers, dates, colours, and the one way to typeset."""
