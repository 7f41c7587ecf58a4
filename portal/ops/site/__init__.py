"""The site description: one YAML file that says what a site has, checked and loaded."""
