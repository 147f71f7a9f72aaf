"""The pages of the inbox. A view fetches through access, calls one service, puts the answer on a page."""
