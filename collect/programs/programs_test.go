//go:build !windows

package programs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAProgramIsNeverTakenFromTheWorkingFolder(t *testing.T) {
	work, good, dull := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(work)
	make := func(folder, name string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := make(work, "agent", 0o755)
	make(filepath.Join(work, "bin"), "agent", 0o755)
	make(dull, "agent", 0o644)
	want := make(good, "agent", 0o755)
	if err := os.Mkdir(filepath.Join(good, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, search, want string }{
		{"agent", good, want},
		{"agent", "", ""},
		{"agent", ":" + good, want},
		{"agent", ".:bin:./bin:" + good, want},
		{"agent", good + ":", want},
		{"agent", ".", ""},
		{"agent", "bin", ""},
		{"agent", dull, ""},
		{"agent", dull + ":" + good, want},
		{"./agent", good, ""},
		{"bin/agent", good, ""},
		{here, "", here},
		{filepath.Join(dull, "agent"), good, ""},
		{"folder", good, ""},
		{"", good, ""},
		{".", good, ""},
		{"..", good, ""},
	} {
		got, err := Find(test.name, test.search)
		if got != test.want || (err != nil) != (test.want == "") || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q along %q: %q, %v, want %q", test.name, test.search, got, err, test.want)
		}
		if err != nil && !strings.Contains(err.Error(), test.name) {
			t.Errorf("the error does not name %q: %v", test.name, err)
		}
	}
}
