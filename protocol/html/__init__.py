"""The frame of every page for people: templates, styles, and how texts of other agents are shown."""
