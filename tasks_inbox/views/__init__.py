"""The pages of the inbox. A view fetches through access, calls one service, and puts the answer or the refusal on a page."""
