package hashgraph

import (
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
)

// part is about what one chunk holds, in bytes.
const part = 512 << 10

// BenchmarkCaptureAndStableArray is the way of every event into a chunk's contentHash.
func BenchmarkCaptureAndStableArray(b *testing.B) {
	for _, set := range []struct {
		name  string
		lines func() ([][]byte, error)
	}{
		{"recorded claude", func() ([][]byte, error) { return vectors.RealLines("claude") }},
		{"recorded codex", func() ([][]byte, error) { return vectors.RealLines("codex") }},
		{"made", func() ([][]byte, error) { return vectors.MadeLines(4 << 20) }},
	} {
		b.Run(set.name, func(b *testing.B) {
			lines, err := set.lines()
			if err != nil {
				b.Skip(err)
			}
			size := int64(0)
			for _, line := range lines {
				size += int64(len(line))
			}
			b.SetBytes(size)
			b.ReportAllocs()
			p := parts{h: new(Hasher)}
			for b.Loop() {
				for _, line := range lines {
					p.take(b, line)
				}
			}
		})
	}
}

// parts hashes lines in parts.
type parts struct {
	h      *Hasher
	tape   value.Tape
	values []value.Value
	size   int
}

func (p *parts) take(b *testing.B, line []byte) {
	c, err := p.tape.Capture(line)
	if err != nil {
		b.Fatal(err)
	}
	p.values = append(p.values, c.Value)
	if p.size += len(line); p.size >= part {
		p.h.StableArray(p.values)
		p.tape.Reset()
		p.values, p.size = p.values[:0], 0
	}
}
