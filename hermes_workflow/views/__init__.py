"""The pages of designs, the account, the bell, sign-in and search."""
