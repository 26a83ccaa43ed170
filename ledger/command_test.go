package ledger

import (
	"errors"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
)

// captured reads a JSON text that a test wrote down.
func captured(t testing.TB, text string) value.Value {
	t.Helper()
	c, err := new(value.Tape).Capture([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return c.Value
}

// commandJSON is a valid command with fields replaced: pairs of a field and its JSON,
// which is "" to leave the field out.
func commandJSON(replaced ...string) string {
	fields := []string{"schema", `"` + commandSchema + `"`, "ownerDid", `"` + ownerOne + `"`, "id", `"c1"`,
		"createdAt", `"yesterday"`, "sourceId", `"codex"`, "nativeSessionId", `"s1"`, "type", `"prompt"`, "payload", `{"text":"hello"}`}
	return replacedJSON(fields, replaced)
}

func replacedJSON(fields, replaced []string) string {
	var b strings.Builder
	write := func(field, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + field + `":` + text)
	}
	kept := map[string]bool{}
	for i := 0; i < len(fields); i += 2 {
		text := fields[i+1]
		for j := 0; j < len(replaced); j += 2 {
			if replaced[j] == fields[i] {
				text, kept[fields[i]] = replaced[j+1], true
			}
		}
		write(fields[i], text)
	}
	for j := 0; j < len(replaced); j += 2 {
		if !kept[replaced[j]] {
			write(replaced[j], replaced[j+1])
		}
	}
	return "{" + b.String() + "}"
}

func TestParseCommand(t *testing.T) {
	t.Run("a command is read, trimmed and canonical", func(t *testing.T) {
		element := captured(t, commandJSON("id", `"\ufeff c1\u00a0"`, "sourceId", `" CODEX\u2003"`, "nativeSessionId", `" S1 "`,
			"createdAt", `" now "`, "force", "true", "requestedBy", `" someone "`, "later", `{"field":1}`))
		c, err := ParseCommand(element, ownerOne)
		if err != nil {
			t.Fatal(err)
		}
		if c.ID != "c1" || c.SourceID != "codex" || c.NativeSessionID != "S1" || c.CreatedAt != "now" ||
			c.Type != Prompt || !c.Force || c.RequestedBy != "someone" || c.OwnerDID != ownerOne {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a string of JSON is read as the record", func(t *testing.T) {
		element := value.NewBuilder().String(commandJSON()).Finish()
		if c, err := ParseCommand(element, ownerOne); err != nil || c.ID != "c1" || c.Payload.Path("text").Str() != "hello" {
			t.Errorf("%+v, %v", c, err)
		}
	})
	t.Run("what is rendered reads back the same", func(t *testing.T) {
		for _, text := range []string{commandJSON(), commandJSON("force", "true", "requestedBy", `"someone"`, "payload", `{"/odd":[null,-0.0,1e400],"b":1,"a":2}`)} {
			c, err := ParseCommand(captured(t, text), ownerOne)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseCommand(c.Value(), ownerOne)
			if err != nil || same(c.Value()) != same(again.Value()) {
				t.Errorf("%s\n%s, %v", same(c.Value()), same(again.Value()), err)
			}
		}
	})
	t.Run("the payload outlives the tape of the queue", func(t *testing.T) {
		tape := new(value.Tape)
		element, err := tape.Capture([]byte(commandJSON()))
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCommand(element.Value, ownerOne)
		if err != nil {
			t.Fatal(err)
		}
		tape.Reset()
		if _, err := tape.Capture([]byte(commandJSON("payload", `{"text":"other"}`))); err != nil {
			t.Fatal(err)
		}
		if in, err := c.PromptInput(); err != nil || in.Text != "hello" {
			t.Errorf("%+v, %v", in, err)
		}
	})
	t.Run("what breaks a rule is refused, named and not quoted", func(t *testing.T) {
		long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
		for _, bad := range [][]string{
			{"schema", ""}, {"schema", `"secret"`}, {"schema", "1"}, {"ownerDid", ""}, {"ownerDid", `"did:key:secret"`}, {"ownerDid", `" ` + ownerOne + `"`},
			{"id", ""}, {"id", `" "`}, {"id", "1"}, {"id", `"secret\u0000"`}, {"id", long(257)}, {"id", `"` + strings.Repeat("😀", 129) + `"`}, {"id", `"\ud800"`},
			{"createdAt", ""}, {"createdAt", `"\t"`}, {"createdAt", "1"}, {"createdAt", long(129)},
			{"sourceId", ""}, {"sourceId", `""`}, {"sourceId", long(257)}, {"sourceId", `"a\u007fsecret"`},
			{"nativeSessionId", ""}, {"nativeSessionId", long(1025)}, {"nativeSessionId", `"secret\n1"`},
			{"type", ""}, {"type", `"secret"`}, {"type", `" prompt"`}, {"type", "null"},
			{"payload", ""}, {"payload", `"secret"`}, {"payload", `["secret"]`}, {"payload", "null"},
			{"force", `"secret"`}, {"force", "null"}, {"force", "1"}, {"requestedBy", "1"}, {"requestedBy", "null"},
		} {
			_, err := ParseCommand(captured(t, commandJSON(bad...)), ownerOne)
			wantInvalid(t, err, bad[0])
		}
		for _, element := range []value.Value{{}, captured(t, "null"), captured(t, "[]"), captured(t, `"secret"`), captured(t, `"{\"secret\""`), captured(t, `"[]"`)} {
			_, err := ParseCommand(element, ownerOne)
			wantInvalid(t, err, "element")
		}
		if _, err := ParseCommand(captured(t, commandJSON("ownerDid", `""`)), ""); err == nil {
			t.Error("a command of nobody was taken")
		}
	})
	t.Run("limits count UTF-16 units before trimming", func(t *testing.T) {
		for text, ok := range map[string]bool{
			strings.Repeat("x", 256): true, strings.Repeat("😀", 128): true, strings.Repeat("é", 256): true,
			strings.Repeat("x", 256) + " ": false, strings.Repeat("é", 257): false,
		} {
			if _, err := ParseCommand(captured(t, commandJSON("id", `"`+text+`"`)), ownerOne); (err == nil) != ok {
				t.Errorf("%d bytes: %v", len(text), err)
			}
		}
	})
}

func same(v value.Value) string { return string(value.AppendText(nil, v)) }

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *InvalidCommandError
	if !errors.As(err, &invalid) || invalid.Field != field || strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: %v", field, err)
	}
}

// command returns a parsed command with a payload.
func command(t *testing.T, kind CommandType, payload string) Command {
	t.Helper()
	c, err := ParseCommand(captured(t, commandJSON("type", `"`+string(kind)+`"`, "payload", payload)), ownerOne)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPayloads(t *testing.T) {
	t.Run("each type has its own, trimmed", func(t *testing.T) {
		c := command(t, Prompt, `{"text":"  two\n words \n"}`)
		c.Force = true
		if in, err := c.PromptInput(); err != nil || in != (collect.PromptInput{Text: "two\n words", Force: true}) {
			t.Errorf("%+v, %v", in, err)
		}
		if in, err := command(t, Start, `{"text":"go","cwd":" /home/dev ","title":"T","mode":"plan"}`).StartInput(); err != nil ||
			in != (collect.StartInput{PromptInput: collect.PromptInput{Text: "go"}, Cwd: "/home/dev", Title: "T", Mode: "plan"}) {
			t.Errorf("%+v, %v", in, err)
		}
		if in, err := command(t, Start, `{"text":"go"}`).StartInput(); err != nil || in.Text != "go" || in.Cwd != "" {
			t.Errorf("%+v, %v", in, err)
		}
		if title, err := command(t, Rename, `{"title":" New name "}`).Title(); err != nil || title != "New name" {
			t.Errorf("%q, %v", title, err)
		}
		if mode, err := command(t, SetMode, `{"mode":"plan"}`).Mode(); err != nil || mode != "plan" {
			t.Errorf("%q, %v", mode, err)
		}
		if key, v, err := command(t, SetConfigOption, `{"key":"model","value":{"a":[1]}}`).Option(); err != nil || key != "model" || same(v) != `{"a":[1]}` {
			t.Errorf("%q, %s, %v", key, same(v), err)
		}
		if _, v, err := command(t, SetConfigOption, `{"key":"model"}`).Option(); err != nil || v.Kind() != value.Undefined {
			t.Errorf("%v, %v", v.Kind(), err)
		}
	})
	t.Run("the largest fit, one unit more does not", func(t *testing.T) {
		texts := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
		start := func(c Command) error { _, err := c.StartInput(); return err }
		for _, row := range []struct {
			field string
			kind  CommandType
			limit int
			read  func(Command) error
		}{
			{"text", Prompt, 131072, func(c Command) error { _, err := c.PromptInput(); return err }},
			{"text", Start, 131072, start}, {"cwd", Start, 4096, start}, {"title", Start, 512, start}, {"mode", Start, 128, start},
			{"title", Rename, 512, func(c Command) error { _, err := c.Title(); return err }},
			{"mode", SetMode, 128, func(c Command) error { _, err := c.Mode(); return err }},
			{"key", SetConfigOption, 256, func(c Command) error { _, _, err := c.Option(); return err }},
		} {
			others := ""
			if row.kind == Start && row.field != "text" {
				others = `"text":"go",`
			}
			payload := func(text string) Command { return command(t, row.kind, "{"+others+`"`+row.field+`":`+text+"}") }
			if err := row.read(payload(texts(row.limit))); err != nil {
				t.Errorf("%s of %s: %v", row.field, row.kind, err)
			}
			for _, bad := range []string{texts(row.limit + 1), `"  "`, "1", "null"} {
				wantInvalid(t, row.read(payload(bad)), "payload."+row.field)
			}
		}
	})
	t.Run("another type's payload is none", func(t *testing.T) {
		_, err := command(t, Cancel, `{"text":"secret"}`).PromptInput()
		wantInvalid(t, err, "type")
	})
}

func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{commandJSON(), commandJSON("payload", `{"/a":[{"/hole":3},-0,1e999,"\ud800"]}`, "force", "true"),
		commandJSON("id", `" \u0130 "`, "sourceId", `"\u0130\u03a3"`), `"` + strings.ReplaceAll(commandJSON(), `"`, `\"`) + `"`, "null", `"{}"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		element, err := new(value.Tape).Capture(text)
		if err != nil {
			return
		}
		c, err := ParseCommand(element.Value, ownerOne)
		if err != nil {
			var invalid *InvalidCommandError
			if !errors.As(err, &invalid) {
				t.Fatalf("%T", err)
			}
			return
		}
		again, err := ParseCommand(c.Value(), ownerOne)
		if err != nil && units([]byte(c.SourceID)) <= maxSourceID { // lower-casing may lengthen
			t.Fatalf("cannot be read again: %v", err)
		}
		if err == nil && same(c.Value()) != same(again.Value()) {
			t.Fatalf("%s\n%s", same(c.Value()), same(again.Value()))
		}
		if _, err := newEntry(Receipt{OwnerDID: ownerOne, CommandID: CommandID{ID: c.ID}, SourceID: c.SourceID, NativeSessionID: c.NativeSessionID, Status: InFlight}); err != nil {
			t.Fatalf("a command that cannot be claimed: %v", err)
		}
	})
}
