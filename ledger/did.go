package ledger

import "crypto/ed25519"

// KeyDID returns the did:key that names a public Ed25519 key.
func KeyDID(key ed25519.PublicKey) string { return didOf(key) }
