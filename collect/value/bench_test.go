package value_test

import (
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
)

// transcripts are the sets of lines that the benchmarks read.
var transcripts = []struct {
	name  string
	lines func() ([][]byte, error)
}{
	{"recorded claude", func() ([][]byte, error) { return vectors.RealLines("claude") }},
	{"recorded codex", func() ([][]byte, error) { return vectors.RealLines("codex") }},
	{"made", func() ([][]byte, error) { return vectors.MadeLines(4 << 20) }},
}

func BenchmarkCapture(b *testing.B) {
	for _, set := range transcripts {
		b.Run(set.name, func(b *testing.B) {
			lines, err := set.lines()
			if err != nil {
				b.Skip(err)
			}
			b.SetBytes(total(lines))
			b.ReportAllocs()
			var tape value.Tape
			for b.Loop() {
				for _, line := range lines {
					if tape.Size() > 1<<20 {
						tape.Reset()
					}
					if _, err := tape.Capture(line); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAppendText(b *testing.B) {
	lines, err := vectors.MadeLines(4 << 20)
	if err != nil {
		b.Fatal(err)
	}
	var tape value.Tape
	var values []value.Value
	for _, line := range lines {
		c, err := tape.Capture(line)
		if err != nil {
			b.Fatal(err)
		}
		values = append(values, c.Value)
	}
	b.SetBytes(total(lines))
	b.ReportAllocs()
	var text []byte
	for b.Loop() {
		for _, v := range values {
			text = value.AppendText(text[:0], v)
		}
	}
}

func total(lines [][]byte) (n int64) {
	for _, line := range lines {
		n += int64(len(line))
	}
	return n
}
