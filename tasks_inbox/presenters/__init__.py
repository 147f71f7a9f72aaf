"""What pages show, prepared: each presenter turns rows and rules into what a template draws."""
