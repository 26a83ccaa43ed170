package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

// fileIn returns the content of a file of the ledger's folder.
func fileIn(t testing.TB, disk durable.FS, name string) string {
	t.Helper()
	text, err := durable.ReadFile(disk, filepath.Join(commandsDir, name), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lay puts a file into the ledger's folder.
func lay(t testing.TB, disk durable.FS, name, text string) {
	t.Helper()
	if err := durable.MkdirPrivate(disk, commandsDir); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(disk, filepath.Join(commandsDir, name), []byte(text), 0o600, true); err != nil {
		t.Fatal(err)
	}
}

func TestTheFile(t *testing.T) {
	t.Run("its bytes are those of the format", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		produced := failure("b")
		produced.CommandID.Producer = "pattern"
		produced.Result = outcome("b").Result
		put(t, c, produced)
		put(t, c, claim("a"))
		publish(t, c, claim("a"))
		want := `{
  "schema": "commonfabric.agent-connector.command-ledger",
  "generation": 3,
  "receipts": {
    "a": {
      "schema": "commonfabric.agent-connector.command-receipt",
      "ownerDid": "did:key:z6MkownerOne",
      "commandId": "a",
      "sourceId": "codex",
      "nativeSessionId": "s1",
      "status": "in-flight",
      "claimedAt": "2026-01-02T12:00:00.000Z"
    },
    "pattern\u0000b": {
      "schema": "commonfabric.agent-connector.command-receipt",
      "ownerDid": "did:key:z6MkownerOne",
      "commandId": "b",
      "sourceId": "codex",
      "producer": "pattern",
      "nativeSessionId": "s1",
      "status": "unknown",
      "claimedAt": "2026-01-02T12:00:00.000Z",
      "completedAt": "2026-01-02T12:00:05.000Z",
      "error": {
        "code": "orphaned-in-flight",
        "message": "the process ended first",
        "retryable": false
      },
      "result": "fvj1:{\"id\":\"b\",\"missing\":{\"/Undefined@1\":null},\"zero\":{\"/SpecialNumber@1\":\"-0\"}}"
    }
  },
  "pendingPublicationCommandIds": [
    "pattern\u0000b"
  ]
}
`
		if got := fileIn(t, disk, commandsFile); got != want {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("the example of the format opens, compact and without an owner", func(t *testing.T) {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, `{ "schema": "commonfabric.agent-connector.command-ledger", "generation": 12, "receipts": { "command-id": { "schema": "commonfabric.agent-connector.command-receipt", "commandId": "command-id", "sourceId": "codex", "nativeSessionId": "session-id", "status": "succeeded" } }, "pendingPublicationCommandIds": [] }`)
		c := openLedger(t, disk)
		got, found, err := c.Get(CommandID{ID: "command-id"})
		if err != nil || !found || got.Status != Succeeded || len(c.Pending()) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		put(t, c, claim("a"))
		if text := fileIn(t, disk, commandsFile); !strings.Contains(text, "\n  \"generation\": 13,\n") {
			t.Error(text)
		}
	})
	t.Run("an empty ledger has no line breaks in what is empty", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		put(t, c, claim("a"))
		if err := c.Forget(context.Background(), CommandID{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		want := "{\n  \"schema\": \"commonfabric.agent-connector.command-ledger\",\n  \"generation\": 2,\n  \"receipts\": {},\n  \"pendingPublicationCommandIds\": []\n}\n"
		if got := fileIn(t, disk, commandsFile); got != want {
			t.Errorf("%q", got)
		}
	})
	t.Run("fields of others are kept, in the file and in a receipt that nobody stores anew", func(t *testing.T) {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, `{"schema":"commonfabric.agent-connector.command-ledger","more":{"a":[1.5,null]},"generation":0,"receipts":{"c1":`+
			receiptJSON("extra", `{"n":12}`)+`},"pendingPublicationCommandIds":["c1"]}`)
		c := openLedger(t, disk)
		put(t, c, claim("a"))
		for _, want := range []string{"\"extra\": {\n        \"n\": 12\n      }", ",\n  \"more\": {\n    \"a\": [\n      1.5,\n      null\n    ]\n  }\n}\n"} {
			if got := fileIn(t, disk, commandsFile); !strings.Contains(got, want) {
				t.Errorf("without %s:\n%s", want, got)
			}
		}
		c1, _, _ := c.Get(CommandID{ID: "c1"})
		publish(t, c, c1)
		if len(openLedger(t, disk).Pending()) != 1 {
			t.Error("a receipt with more fields cannot be marked")
		}
	})
	t.Run("the last generation is not passed", func(t *testing.T) {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, ledgerJSON("generation", "9007199254740991"))
		c := openLedger(t, disk)
		if err := c.Put(context.Background(), claim("a")); err == nil || c.Known(CommandID{ID: "a"}) {
			t.Error(err)
		}
	})
}

// ledgerJSON is a valid file with fields replaced, as commandJSON has it.
func ledgerJSON(replaced ...string) string {
	return replacedJSON([]string{"schema", `"` + commandsSchema + `"`, "generation", "3", "receipts", `{"c1":` + receiptJSON() + `}`,
		"pendingPublicationCommandIds", `["c1"]`}, replaced)
}

func TestADamagedFileIsRefusedAndLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "null", "[]", ledgerJSON() + "x", ledgerJSON()[:40],
		ledgerJSON("schema", ""), ledgerJSON("schema", `"commonfabric.agent-connector.command"`),
		ledgerJSON("generation", ""), ledgerJSON("generation", "-1"), ledgerJSON("generation", "1.5"), ledgerJSON("generation", `"1"`), ledgerJSON("generation", "9007199254740992"),
		ledgerJSON("receipts", ""), ledgerJSON("receipts", "[]"), ledgerJSON("receipts", `{"c2":`+receiptJSON()+`}`), ledgerJSON("receipts", `{"c1":1}`),
		ledgerJSON("receipts", `{"c1":`+receiptJSON("status", `"done"`)+`}`), ledgerJSON("receipts", `{"c1":`+receiptJSON("result", `"fvj1:"`)+`}`),
		ledgerJSON("receipts", `{"c1":`+receiptJSON("producer", `"p"`)+`}`), ledgerJSON("receipts", "{}"),
		ledgerJSON("pendingPublicationCommandIds", ""), ledgerJSON("pendingPublicationCommandIds", "{}"), ledgerJSON("pendingPublicationCommandIds", "[1]"),
		ledgerJSON("pendingPublicationCommandIds", `["c1","c1"]`), ledgerJSON("pendingPublicationCommandIds", `["c2"]`),
		ledgerJSON("version", "0"), ledgerJSON("version", `"1"`), ledgerJSON("archivedBytes", "-1"), ledgerJSON("archivedBytes", `"1"`),
	} {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, text)
		steps := len(disk.Steps())
		_, err := OpenCommands(context.Background(), disk, commandsDir)
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != filepath.Join(commandsDir, commandsFile) || corrupt.Field == "" {
			t.Errorf("%s: %v", text, err)
		}
		for _, step := range disk.Steps()[steps:] {
			if step.Name != "mkdir" && step.Name != "syncdir" {
				t.Errorf("%s: %v", text, step)
			}
		}
	}
	t.Run("so is a newer one", func(t *testing.T) {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, ledgerJSON("version", "2"))
		var newer *VersionError
		if _, err := OpenCommands(context.Background(), disk, commandsDir); !errors.As(err, &newer) || newer.Found != 2 {
			t.Error(err)
		}
	})
	t.Run("a producer's receipt is checked by its own id", func(t *testing.T) {
		disk := crashfs.New(1)
		lay(t, disk, commandsFile, ledgerJSON("receipts", `{"p\u0000c1":`+receiptJSON("producer", `"p"`)+`}`, "pendingPublicationCommandIds", `["p\u0000c1"]`))
		if got := ids(openLedger(t, disk).Pending()); len(got) != 1 || got[0] != "p\x00c1" {
			t.Errorf("%q", got)
		}
	})
}

func FuzzParseContent(f *testing.F) {
	for _, seed := range []string{ledgerJSON(), ledgerJSON("archivedBytes", "7", "more", `{"a":[-0,1e400,"\ud800"]}`), ledgerJSON("version", "2"),
		ledgerJSON("receipts", `{"p\u0000c1":`+receiptJSON("producer", `"p"`, "extra", `[]`)+`}`, "pendingPublicationCommandIds", "[]")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseContent(commandsFile, text)
		if err != nil {
			var corrupt *CorruptError
			var version *VersionError
			if !errors.As(err, &corrupt) && !errors.As(err, &version) {
				t.Fatalf("neither damage nor a newer version: %v", err)
			}
			return
		}
		one, err := c.encode(nil, c.entry)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseContent(commandsFile, one)
		if err != nil {
			t.Fatalf("%v:\n%s", err, one)
		}
		if two, err := again.encode(nil, again.entry); err != nil || string(two) != string(one) {
			t.Fatalf("%s\n%s, %v", one, two, err)
		}
	})
}
