"""What people type to a bot, or into the site: `/workflow …`, read and done as the person who speaks."""
