"""English: the day before the month and 24 hours, as on the pages of the site."""
