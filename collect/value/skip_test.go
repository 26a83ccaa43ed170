package value

import (
	"bytes"
	"testing"
)

func TestSkipEndsWhereCaptureEnds(t *testing.T) {
	for _, text := range []string{`1`, `-1.5e3`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `""`, `[]`, `{}`, `[1,"]",{"}":"{"}]`, `true`, `null`, `{"a":[{"b":"\\"}]}`} {
		for _, after := range []string{"", ",2", "]", "}", `,"x"]`} {
			n, err := Skip([]byte(text + after))
			if err != nil || n != len(text) {
				t.Errorf("%q before %q: %d, %v", text, after, n, err)
			}
		}
	}
	for _, text := range []string{"", `"a`, `"a\"`, `[1`, `{"a":`, `,`, `]`} {
		if n, err := Skip([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}

// FuzzSkip compares with the capture of whatever that takes.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{`{"a":"\\\"","b":[1,{}]}`, `"x"`, `12`, `[[],[""]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Skip(text)
		if n > len(text) {
			t.Fatalf("%d of %d bytes", n, len(text))
		}
		var tape Tape
		captured, m, wrong := tape.CapturePrefix(text)
		if wrong != nil || len(captured.Text) != m { // blanks before it
			return
		}
		if m < len(text) && !bytes.ContainsRune([]byte(",]} \n"), rune(text[m])) { // no element of a list
			return
		}
		if err != nil || n != m {
			t.Errorf("skipped %d, %v; captured %d of %q", n, err, m, text)
		}
	})
}
