package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agentsync/fixtures/fakedriver"
)

func recalls(t *testing.T, b *bed) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.target.State, recallPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

func TestWhatIsRememberedOfASessionGoesWithIt(t *testing.T) {
	d := fakedriver.New("codex")
	var want []string
	for i := range 4 {
		d.Session(fmt.Sprint("s", i), lines(9000, i)...)
		want = append(want, recallName(fmt.Sprint("codex/s", i)))
	}
	slices.Sort(want)
	b := newBed(t, d)
	b.pass.Now = time.Now()
	b.publish()
	if got := recalls(t, b); !slices.Equal(got, want) {
		t.Fatalf("after the first pass: %v, want %v", got, want)
	}
	stray := filepath.Join(b.target.State, recallName("codex/of-another-time"))
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	idle := recallName("codex/s3")
	long := b.pass.Now.Add(-recallAge - time.Hour)
	if err := os.Chtimes(filepath.Join(b.target.State, idle), long, long); err != nil {
		t.Fatal(err)
	}
	gone := recallName("codex/s0")
	d.Remove("s0").Append("s1", lines(1, 9000)...)
	b.publish()
	want = slices.DeleteFunc(want, func(name string) bool { return name == gone || name == idle })
	if got := recalls(t, b); !slices.Equal(got, want) {
		t.Errorf("after one went: %v, want %v", got, want)
	}
	d.Append("s3", lines(1, 9100)...) // remembered anew
	b.publish()
	if got := recalls(t, b); !slices.Contains(got, idle) {
		t.Errorf("a session that grows after all is not remembered: %v", got)
	}
	b.sound()
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	now := time.Now()
	live := map[string]bool{}
	var files []recallFile
	for i := range 10 {
		name := fmt.Sprint(recallPrefix, i)
		live[name] = true
		files = append(files, recallFile{name, recallMost / 4, now.Add(time.Duration(-i) * time.Hour)})
	}
	if got := unneeded(files, live, now); len(got) != 6 || got[0] != recallPrefix+"4" {
		t.Errorf("removed %v", got)
	}
}
