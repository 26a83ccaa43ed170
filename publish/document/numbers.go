package document

import (
	"fmt"
	"strconv"

	"agentsync/collect/value"
)

// hex64 writes a fingerprint: 64 bits do not fit a JSON number.
func hex64(n uint64) string { return fmt.Sprintf("%016x", n) }

func (r *reader) hex64(field string, v value.Value) uint64 {
	n, err := strconv.ParseUint(v.Str(), 16, 64)
	if err != nil || len(v.Str()) != 16 {
		r.fail(field, "is no fingerprint")
	}
	return n
}

func fingerprints(b *value.Builder, list []uint64) {
	b.Array()
	for _, n := range list {
		b.String(hex64(n))
	}
	b.End()
}

func (r *reader) fingerprints(field string) []uint64 {
	var out []uint64
	for _, v := range r.list(field) {
		out = append(out, r.hex64(field, v))
	}
	return out
}
