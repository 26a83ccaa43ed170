package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
)

// TestHowRecordedTurnsEnded investigates every prompt of the real client's recorded
// sessions as if its outcome had been lost.
func TestHowRecordedTurnsEnded(t *testing.T) {
	d := recordedDriver(t, "real")
	got := map[string]string{}
	for _, s := range inventory(t, d).Sessions {
		id := s.NativeSessionID
		if !isUUID(id) {
			continue
		}
		for _, line := range read(t, d, id, nil).texts {
			var tape value.Tape
			c, err := tape.Capture([]byte(line))
			if err != nil || !isPromptLine(c.Value) {
				continue
			}
			uuid, _ := str(c.Value, "uuid")
			o, err := d.Investigate(context.Background(), id, collect.Trace{Operation: "prompt", ProviderOperationID: uuid})
			if err != nil {
				t.Fatal(err)
			}
			words, _, _ := strings.Cut(wordsOf(c.Value), ".")
			got[id[:3]+" "+words] = fmt.Sprint(o.Status, " ", problemCode(o))
		}
	}
	want := map[string]string{"090 Long job": "failed cancelled", "0b1 Slow": "failed cancelled",
		"0a1 Fail please": "failed claude-query-failed"}
	for turn, ended := range got {
		if expected, special := want[turn]; special && ended != expected || !special && ended != "succeeded " {
			t.Errorf("%q ended as %q", turn, ended)
		}
	}
	if len(got) != 26 {
		t.Errorf("%d turns were looked at", len(got))
	}
}

func isPromptLine(line value.Value) bool {
	kind, _ := str(line, "type")
	source, _ := str(line, "promptSource")
	return kind == "user" && source == "sdk"
}

func problemCode(o collect.Outcome) string {
	if o.Problem == nil {
		return ""
	}
	return o.Problem.Code
}
