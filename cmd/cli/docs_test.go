package cli

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output in scripts and golden files")

// The manual beside the program is the one that the program prints; -update rewrites it.
func TestTheManPageIsTheGeneratedOne(t *testing.T) {
	path := filepath.Join("..", "agentsync", "doc", "agentsync.1")
	want, err := manual(new(invocation).newAppForTest(), "man")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what agentsync docs man prints; go test ./cmd/cli -update rewrites it", path)
	}
}
