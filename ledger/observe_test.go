package ledger

import (
	"errors"
	"maps"
	"testing"
)

func FuzzParseObservations(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"version":1,"last":"0"}`, `{"version":1,"last":"12","complete":{"claude":"11","codex":"12"},"more":{"a":[1e400]}}`,
		`{"version":2}`, `{"version":1,"last":"18446744073709551615"}`, `{"version":1,"last":"18446744073709551616"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		kept, err := parseObservations("observations.json", content)
		if err != nil {
			var corrupt *CorruptError
			var version *VersionError
			if !errors.As(err, &corrupt) && !errors.As(err, &version) {
				t.Fatalf("neither damage nor a newer version: %v", err)
			}
			return
		}
		again, err := kept.encode()
		if err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
		same, err := parseObservations("observations.json", again)
		if err != nil || same.last != kept.last || !maps.Equal(same.complete, kept.complete) {
			t.Fatalf("read %v, wrote and read %v, %v", kept, same, err)
		}
	})
}
