// Package digest is the SHA-256 digest type and the one place that computes it.
package digest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/minio/sha256-simd"
)

// Digest is a SHA-256 digest.
type Digest [32]byte

// Sum returns the digest of p.
func Sum(p []byte) Digest { return sha256.Sum256(p) }

// New returns a running SHA-256.
func New() hash.Hash { return sha256.New() }

// Of closes a running SHA-256 made by New.
func Of(h hash.Hash) (d Digest) {
	h.Sum(d[:0])
	return d
}

// Hex returns 64 lower-case hexadecimal digits.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// String returns "sha256:" and the hexadecimal digits, the form of every stored hash.
func (d Digest) String() string { return "sha256:" + d.Hex() }

// FID returns "fid1:" and the unpadded base64url digits, the form inside cell ids.
func (d Digest) FID() string { return "fid1:" + base64.RawURLEncoding.EncodeToString(d[:]) }

// IsZero reports the digest nobody computed.
func (d Digest) IsZero() bool { return d == Digest{} }

// Parse reads the "sha256:" form, or 64 bare digits; lower-case only.
func Parse(s string) (d Digest, err error) {
	digits := strings.TrimPrefix(s, "sha256:")
	if len(digits) != 64 || strings.ToLower(digits) != digits {
		return d, fmt.Errorf("not a sha256 digest: %.80q", s)
	}
	if _, err := hex.Decode(d[:], []byte(digits)); err != nil {
		return d, fmt.Errorf("not a sha256 digest: %.80q", s)
	}
	return d, nil
}
