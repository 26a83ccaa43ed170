package cli

// This file holds show: one published session, its header and its conversation.
