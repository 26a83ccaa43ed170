package collect

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestSessionKeysOfTheGoldenVectors(t *testing.T) {
	text, err := os.ReadFile("../fixtures/vectors/fabric.json")
	if err != nil {
		t.Skip("no golden vectors:", err)
	}
	var file struct{ SessionKey [][3]string }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.SessionKey) == 0 {
		t.Fatal("no vectors in the file")
	}
	for _, v := range file.SessionKey {
		if key, err := SessionKey(v[0], v[1]); err != nil || key != v[2] {
			t.Errorf("SessionKey(%q, %q) = %q, %v; want %q", v[0], v[1], key, err, v[2])
		}
	}
}

// The lower-case forms are those of the Unicode default case mapping (chapter 3.13 and
// SpecialCasing): one letter may become two, and sigma depends on what stands around it.
func TestSourceIDsAreLowerCasedByFullMapping(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"ASCII stays quick", "codex", "codex"},
		{"upper case", "Codex:Work", "codex:work"},
		{"dotted capital I becomes two code points", "\u0130", "i\u0307"},
		{"final sigma", "ΟΔΟΣ", "οδος"},
		{"sigma inside a word", "ΟΔΟΣΑ", "οδοσα"},
		{"sigma before a space is final", "ΟΔΟΣ X", "οδος x"},
		{"sigma alone", "Σ", "σ"},
		{"sigma after a digit", "1Σ", "1σ"},
		{"sigma after a letter and an apostrophe", "Α'Σ", "α'ς"},
		{"sigma before a combining mark", "ΑΣ\u0301", "ας\u0301"},
		{"sharp s stays", "STRAẞE", "straße"},
		{"Deseret", "\U00010400", "\U00010428"},
		{"Kelvin sign", "\u212a", "k"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := SourceID(row.in); err != nil || got != row.want {
				t.Errorf("got %q, %v; want %q", got, err, row.want)
			}
		})
	}
}

func TestIdentitiesAreTrimmedAsECMAScriptTrims(t *testing.T) {
	spaces := "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
	if got, err := SessionID(spaces + "a b" + spaces); err != nil || got != "a b" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, kept := range []string{"\u0085a", "\u200ba", "\u180ea"} {
		if got, _ := SessionID(kept); got != kept {
			t.Errorf("%q was trimmed to %q", kept, got)
		}
	}
}

func TestIdentitiesThatNoKeyCanHoldAreErrors(t *testing.T) {
	for _, row := range []struct{ name, session string }{
		{"empty", ""},
		{"only blanks", " \ufeff\u3000"},
		{"NUL", "a\x00b"},
		{"line feed inside", "a\nb"},
		{"delete", "a\x7fb"},
		{"lone high surrogate", "a\xed\xa0\x80"},
		{"lone low surrogate", "\xed\xb0\x80"},
		{"overlong", "\xc0\xaf"},
		{"truncated", "\xe2\x82"},
	} {
		t.Run(row.name, func(t *testing.T) {
			key, err := SessionKey("codex", row.session)
			var refused *KeyError
			if !errors.As(err, &refused) || refused.Part != "session id" {
				t.Errorf("key %q, error %v", key, err)
			}
		})
	}
	if _, err := SessionKey(" ", "a"); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty source: %v", err)
	}
}

func TestKeysAreEncodedAsURIComponents(t *testing.T) {
	key, err := SessionKey("a", "AZaz09-_.!~*'() /?#%+é\u20ac\U0001f600")
	want := "a/AZaz09-_.!~*'()%20%2F%3F%23%25%2B%C3%A9%E2%82%AC%F0%9F%98%80"
	if err != nil || key != want {
		t.Errorf("got %q, %v; want %q", key, err, want)
	}
}

func TestParseKeyTakesOnlyCanonicalKeys(t *testing.T) {
	for _, bad := range []string{"", "a", "a/", "/b", "a/b/c", "A/b", "a/%2f", "a/%", "a/%4", "a/%zz", "a/b c",
		"a/%41", "a/%20b", "a/%ED%A0%80", "a/%00", "é/b"} {
		if source, session, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q) = %q, %q", bad, source, session)
		}
	}
	source, session, err := ParseKey("codex%3Awork/abc%2F123")
	if err != nil || source != "codex:work" || session != "abc/123" {
		t.Errorf("got %q, %q, %v", source, session, err)
	}
}

func FuzzASessionKeyComesApartAgain(f *testing.F) {
	f.Add("Codex:Work", "abc/123")
	f.Add(" \u0130 ", "\ufeffx%2F\u3000")
	f.Add("ΟΔΟΣ", "a\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, source, session string) {
		key, err := SessionKey(source, session)
		if err != nil {
			return
		}
		if strings.Count(key, "/") != 1 {
			t.Fatalf("key %q", key)
		}
		gotSource, gotSession, err := ParseKey(key)
		if err != nil {
			t.Fatalf("ParseKey(%q): %v", key, err)
		}
		wantSource, _ := SourceID(source)
		wantSession, _ := SessionID(session)
		if gotSource != wantSource || gotSession != wantSession {
			t.Fatalf("%q: got %q, %q", key, gotSource, gotSession)
		}
	})
}

func BenchmarkSessionKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = SessionKey("codex", "01a22bac-7f3b-7890-8b9a-8fe7a533471a")
	}
}

func TestDotsAreNoSource(t *testing.T) {
	for _, id := range []string{".", "..", " .. "} {
		var wrong *KeyError
		if got, err := SourceID(id); !errors.As(err, &wrong) {
			t.Errorf("%q is %q, %v", id, got, err)
		}
		if key, err := SessionKey(id, "x"); err == nil {
			t.Errorf("%q has the key %q", id, key)
		}
	}
	if id, err := SourceID("..."); err != nil || id != "..." {
		t.Errorf("three dots: %q, %v", id, err)
	}
}
