package ledger

import (
	"errors"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
)

// receiptJSON is a valid receipt with fields replaced, as commandJSON has it.
func receiptJSON(replaced ...string) string {
	return replacedJSON([]string{"schema", `"` + receiptSchema + `"`, "ownerDid", `"` + ownerOne + `"`, "commandId", `"c1"`,
		"sourceId", `"codex"`, "nativeSessionId", `"s1"`, "status", `"succeeded"`}, replaced)
}

func TestParseReceipt(t *testing.T) {
	t.Run("a receipt is written in the fields' order, the result last and as fvj1 text", func(t *testing.T) {
		r := outcome("c1")
		r.CommandID.Producer = "pattern"
		r.Problem = &collect.OperationProblem{Code: "c", Message: "m", Retryable: true}
		want := `{"schema":"commonfabric.agent-connector.command-receipt","ownerDid":"did:key:z6MkownerOne","commandId":"c1","sourceId":"codex",` +
			`"producer":"pattern","nativeSessionId":"s1","status":"succeeded","claimedAt":"2026-01-02T12:00:00.000Z","completedAt":"2026-01-02T12:00:05.000Z",` +
			`"providerOperationId":"turn-c1","error":{"code":"c","message":"m","retryable":true},` +
			`"result":"fvj1:{\"id\":\"c1\",\"missing\":{\"/Undefined@1\":null},\"zero\":{\"/SpecialNumber@1\":\"-0\"}}"}`
		if got := written(r); got != want {
			t.Errorf("\n%s\n%s", got, want)
		}
		again, err := ParseReceipt(r.Value())
		if err != nil || written(again) != want {
			t.Errorf("%s, %v", written(again), err)
		}
	})
	t.Run("what JSON cannot say survives in a result", func(t *testing.T) {
		b := value.NewBuilder().Record()
		b.Key("u").Undefined().Key("z").Number(negativeZero()).Key("big").Integer(value.BigInt, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
		b.Key("/slash").Array().Holes(3).End().Key("b").Bytes([]byte{0, 255})
		r := claim("c1")
		r.Result = b.End().Finish()
		read, err := ParseReceipt(captured(t, written(r)))
		if err != nil || same(read.Result) != same(r.Result) {
			t.Errorf("%s, %v", same(read.Result), err)
		}
	})
	t.Run("a result that is a record is taken as it is, and all is detached", func(t *testing.T) {
		tape := new(value.Tape)
		c, err := tape.Capture([]byte(receiptJSON("result", `{"a":[1]}`, "later", "7")))
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseReceipt(c.Value)
		tape.Reset()
		if _, other := tape.Capture([]byte(`{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":[2,3,4,5,6,7,8,9,10,11,12,13,14]}`)); err != nil || other != nil {
			t.Fatal(err, other)
		}
		if same(r.Result) != `{"a":[1]}` {
			t.Error(same(r.Result))
		}
	})
	t.Run("optional fields may be absent, the owner's too", func(t *testing.T) {
		r, err := ParseReceipt(captured(t, receiptJSON("ownerDid", "")))
		if err != nil || r.OwnerDID != "" || r.ClaimedAt != "" || r.Problem != nil || r.Result.Kind() != value.Invalid {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("every status is known", func(t *testing.T) {
		terminal := map[string]bool{"pending": false, "in-flight": false, "succeeded": true, "failed": true, "unsupported": true, "needs-confirmation": true, "unknown": true}
		for status, ends := range terminal {
			r, err := ParseReceipt(captured(t, receiptJSON("status", `"`+status+`"`)))
			if err != nil || r.Status.Terminal() != ends {
				t.Errorf("%s: %v", status, err)
			}
		}
	})
	t.Run("what breaks a rule is refused, named and not quoted", func(t *testing.T) {
		for _, bad := range [][]string{
			{"schema", ""}, {"schema", `"secret"`}, {"ownerDid", "1"}, {"ownerDid", `""`}, {"ownerDid", "null"},
			{"commandId", ""}, {"commandId", `" secret"`}, {"commandId", `""`}, {"commandId", `"a\u0000secret"`}, {"commandId", "1"},
			{"producer", `"Secret"`}, {"producer", `""`}, {"producer", "null"}, {"sourceId", ""}, {"sourceId", `"Secret"`}, {"nativeSessionId", `"secret "`},
			{"status", ""}, {"status", `"secret"`}, {"status", "null"},
			{"claimedAt", `"2026-01-02T12:00:00Z"`}, {"claimedAt", `"2026-02-30T12:00:00.000Z"`}, {"claimedAt", `"2026-01-02T12:00:00,000Z"`},
			{"claimedAt", `"2026-01-02T24:00:00.000Z"`}, {"claimedAt", `"2026-01-02T12:00:00.000+00:00"`}, {"claimedAt", `""`}, {"claimedAt", "1"},
			{"completedAt", `"2026-01-02T12:00:00.0000Z"`}, {"completedAt", `"2026-01-02T12:00:60.000Z"`}, {"completedAt", "null"},
			{"providerOperationId", "1"}, {"result", "1"}, {"result", `"secret"`}, {"result", `"fvj1:1"`}, {"result", `"fvj1:{\"secret\""`}, {"result", "[]"}, {"result", "null"},
		} {
			wantDamage(t, receiptJSON(bad...), bad[0])
		}
		for bad, field := range map[string]string{
			`1`: "error.code", `{}`: "error.code", `{"code":"","message":"secret","retryable":true}`: "error.code",
			`{"code":"c","message":"","retryable":true}`: "error.message", `{"code":"c","message":"m"}`: "error.retryable",
			`{"code":"c","message":"m","retryable":"secret"}`: "error.retryable",
		} {
			wantDamage(t, receiptJSON("error", bad), field)
		}
		wantDamage(t, "[]", "receipt")
	})
}

func wantDamage(t *testing.T, text, field string) {
	t.Helper()
	_, err := ParseReceipt(captured(t, text))
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Field != field || strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: %v", text, err)
	}
}

func FuzzParseReceipt(f *testing.F) {
	for _, seed := range []string{receiptJSON(), written(outcome("c1")), written(failure("c2")), receiptJSON("result", `{"a":-0}`, "producer", `"p"`),
		receiptJSON("result", `"fvj1:{\"/quote\":{\"/a\":1}}"`), "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := new(value.Tape).Capture(text)
		if err != nil {
			return
		}
		r, err := ParseReceipt(c.Value)
		if err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("%T", err)
			}
			return
		}
		again, err := ParseReceipt(captured(t, written(r)))
		if err != nil || written(again) != written(r) {
			t.Fatalf("%s\n%s, %v", written(r), written(again), err)
		}
		line := appendLine(nil, r)
		if kept, ok := parseLine(line[:len(line)-1]); !ok || written(kept) != written(r) {
			t.Fatalf("archived %s", line)
		}
	})
}
