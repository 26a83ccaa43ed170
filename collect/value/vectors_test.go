package value_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
)

func load(t testing.TB) vectors.File {
	t.Helper()
	f, err := vectors.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func described(t testing.TB, descriptor json.RawMessage) value.Value {
	t.Helper()
	v, err := vectors.Value(descriptor)
	if err != nil {
		t.Fatalf("descriptor %.200s: %v", descriptor, err)
	}
	return v
}

// text is the whole fvj1 text of a value.
func text(v value.Value) string { return string(value.AppendText([]byte(value.Prefix), v)) }

func TestEveryRoundTripVectorIsWrittenAndReadAsPublished(t *testing.T) {
	cases := load(t).Text.RoundTrip
	if len(cases) != 74 {
		t.Fatalf("%d cases, want 74", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if got := text(described(t, c.Value)); got != c.Text {
				t.Errorf("wrote %s, want %s", got, c.Text)
			}
			v, err := value.Parse([]byte(c.Text))
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			if got := text(v); got != c.Text {
				t.Errorf("read and wrote %s, want %s", got, c.Text)
			}
		})
	}
}

func TestOtherSpellingsAreReadAsTheSameValue(t *testing.T) {
	cases := load(t).Text.DecodesTo
	if len(cases) != 8 {
		t.Fatalf("%d cases, want 8", len(cases))
	}
	for _, c := range cases {
		v, err := value.Parse([]byte(c.Text))
		if err != nil {
			t.Errorf("%s: %v", c.Text, err)
		} else if got := text(v); got != c.Canonical || got != text(described(t, c.Value)) {
			t.Errorf("%s read as %s, want %s", c.Text, got, c.Canonical)
		}
	}
}

func TestMalformedTextsAreRefused(t *testing.T) {
	f := load(t).Text
	if len(f.Refused) != 32 || len(f.FormatRefuses) != 9 {
		t.Fatalf("%d and %d cases, want 32 and 9", len(f.Refused), len(f.FormatRefuses))
	}
	for _, c := range append(f.Refused, f.FormatRefuses...) {
		v, err := value.Parse([]byte(c.Text))
		if err == nil {
			t.Errorf("%s was read as %s", c.Text, text(v))
			continue
		}
		var syntax *value.SyntaxError
		isSyntax := errors.As(err, &syntax)
		if !isSyntax && !errors.Is(err, value.ErrMalformed) {
			t.Errorf("%s: error of no known kind: %v", c.Text, err)
		}
		if c.Kind == "malformed" == isSyntax && c.Kind != "" {
			t.Errorf("%s: want %s, got %v", c.Text, c.Kind, err)
		}
	}
}

func TestValuesThatHaveNoTextCannotBeBuilt(t *testing.T) {
	for _, d := range load(t).Text.Unencodable {
		if _, err := vectors.Value(d); !errors.Is(err, vectors.ErrNoValue) {
			t.Errorf("%s: got %v", d, err)
		}
	}
}
