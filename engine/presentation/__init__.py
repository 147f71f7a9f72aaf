"""What pages of the inbox and the admin share: narrative texts and forms."""
