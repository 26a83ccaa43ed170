package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The page beside the program is what scripts are written by; it and the table are one.
func TestThePageOfExitCodesIsTheTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "agentsync", "doc", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| *([0-9]+) *\\| *`([a-z-]+)` *\\|").FindAllSubmatch(page, -1)
	if len(rows) != len(exitTable) {
		t.Fatalf("the page has %d codes, the table %d", len(rows), len(exitTable))
	}
	for i, row := range exitTable {
		if number, word := string(rows[i][1]), string(rows[i][2]); number != row.code.String() || word != row.word {
			t.Errorf("row %d of the page is %s %s, of the table %s %s", i, number, word, row.code, row.word)
		}
	}
}

func TestEveryExitCodeHasItsWord(t *testing.T) {
	seen := make(map[exitCode]bool)
	for _, row := range exitTable {
		if seen[row.code] || row.code.word() != row.word || row.meaning == "" {
			t.Errorf("row %+v", row)
		}
		seen[row.code] = true
	}
	for _, code := range []exitCode{exitDone, exitFailed, exitUsage, exitPartial, exitConflict, exitStopped, exitApplying,
		exitNotSetUp, exitLocked, exitDamaged, exitLogin, exitTryLater, exitInterrupted} {
		if !seen[code] {
			t.Errorf("exit code %d is not in the table", code)
		}
	}
}
