"""Chats: the conversations of an account as people see and write them."""
