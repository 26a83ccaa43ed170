package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// until TEXT FILE: waits until the file holds the text, at most 30 seconds.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until TEXT FILE")
	}
	for range 600 {
		if bytes.Contains([]byte(ts.ReadFile(args[1])), []byte(args[0])) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s never held %s", args[1], args[0])
}

// halve FILE: takes the second half of a file away.
func halve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: halve FILE")
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.Chmod(path, 0o600))
	ts.Check(os.Truncate(path, int64(len(ts.ReadFile(args[0]))/2)))
}

// ledgers returns the ledgers of commands below a folder, one for each store.
func ledgers(ts *testscript.TestScript, neg bool, args []string) []string {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forget|damage|intact FOLDER")
	}
	found, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "commands.*"))
	ts.Check(err)
	if len(found) == 0 {
		ts.Fatalf("there is no ledger below %s", args[0])
	}
	return found
}

// forget FOLDER: removes the ledgers below it.
func forget(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range ledgers(ts, neg, args) {
		ts.Check(os.Remove(file))
	}
}

const damagedLedger = `{"schema": "commonfabric.agent-connector.command-ledger", "generation": 1, "receipts": {"a": `

// damage FOLDER: makes the ledgers below it unreadable.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range ledgers(ts, neg, args) {
		ts.Check(os.WriteFile(file, []byte(damagedLedger), 0o600))
	}
}

// intact FOLDER: the ledgers below it are as damage left them.
func intact(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range ledgers(ts, neg, args) {
		content, err := os.ReadFile(file)
		ts.Check(err)
		if string(content) != damagedLedger {
			ts.Fatalf("%s was changed", file)
		}
	}
}
