package stdio

import (
	"os"
	"strings"
	"testing"
)

func TestAProcessNameMayHoldAnything(t *testing.T) {
	rest := strings.Repeat(" 0", 15)
	for text, want := range map[string]state{
		"12 (sh) S 1 34 5" + rest + " 777 0":          {pid: 12, parent: 1, group: 34, started: 777},
		"12 (a) Z 9 (9 9) R 1 34 5" + rest + " 777 0": {pid: 12, parent: 1, group: 34, started: 777},
		"12 (x\n) Z 1 34 5" + rest + " 777 0":         {pid: 12, parent: 1, group: 34, started: 777, dead: true},
	} {
		if got, ok := parseState([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "12", "12 (sh", "12 (sh) S 1 34"} {
		if got, ok := parseState([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestThisProcessIsAliveAndAnEarlierOneIsNot(t *testing.T) {
	for _, s := range states() {
		if s.pid != os.Getpid() {
			continue
		}
		if r := (relative{s.pid, s.started}); !r.alive() {
			t.Error("this process is not alive")
		}
		if r := (relative{s.pid, s.started - 1}); r.alive() {
			t.Error("an earlier process with this number is alive")
		}
		return
	}
	t.Error("this process is not listed")
}
