package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryJSONFieldIsDocumented reads the fields from the source, so that neither the
// page nor a verb can forget one.
func TestEveryJSONFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../agentsync/doc/json.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tag := regexp.MustCompile(`json:"([a-z0-9_]+)`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range tag.FindAllSubmatch(source, -1) {
			found++
			if !strings.Contains(string(page), "`"+string(field[1])+"`") {
				t.Errorf("%s: the field %s is not in json.md", file, field[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d fields were found", found)
	}
}
