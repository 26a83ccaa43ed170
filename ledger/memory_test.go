package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

var memoryDir = filepath.FromSlash("/home/dev/state")

func stateOn(t testing.TB, disk durable.FS) *State {
	t.Helper()
	s, err := OpenState(disk, memoryDir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func remember(t testing.TB, m *Memory, source, session, key, text string) {
	t.Helper()
	if err := m.Remember(context.Background(), source, session, key, text); err != nil {
		t.Fatal(err)
	}
}

func wantRecall(t testing.TB, m *Memory, source, session, key, want string) {
	t.Helper()
	if got, found := m.Recall(source, session, key); got != want || found != (want != "") {
		t.Errorf("%s/%s/%s: %q, %t; want %q", source, session, key, got, found, want)
	}
}

func TestMemory(t *testing.T) {
	ctx := context.Background()
	t.Run("what is remembered is there for the next process, each source's own", func(t *testing.T) {
		disk := crashfs.New(1)
		m := stateOn(t, disk).Memory()
		wantRecall(t, m, "codex", "s1", "mode", "")
		remember(t, m, "codex", "s1", "mode", "plan <&>")
		remember(t, m, "codex", "", "mode", "default")
		for _, m := range []*Memory{m, stateOn(t, disk).Memory()} {
			wantRecall(t, m, "codex", "s1", "mode", "plan <&>")
			wantRecall(t, m, "codex", "", "mode", "default")
			wantRecall(t, m, "claude", "s1", "mode", "")
		}
		remember(t, m, "codex", "s1", "mode", "")
		wantRecall(t, m, "codex", "s1", "mode", "")
		wantRecall(t, stateOn(t, disk).Memory(), "codex", "s1", "mode", "")
	})
	t.Run("it is read once, and what changes nothing is not written", func(t *testing.T) {
		disk := crashfs.New(1)
		m := stateOn(t, disk).Memory()
		remember(t, m, "codex", "s1", "mode", "plan")
		writes := disk.Count("write")
		remember(t, m, "codex", "s1", "mode", "plan")
		remember(t, m, "codex", "s1", "other", "")
		if n := disk.Count("write") - writes; n != 0 {
			t.Errorf("%d writes", n)
		}
		if err := disk.Remove(filepath.Join(memoryDir, memoryFile)); err != nil {
			t.Fatal(err)
		}
		wantRecall(t, m, "codex", "s1", "mode", "plan")
	})
	t.Run("fields of a later program are kept", func(t *testing.T) {
		disk := crashfs.New(1)
		s := stateOn(t, disk)
		path := s.Path(memoryFile)
		if err := durable.Replace(disk, path, []byte(`{"version":1,"more":{"a":[1e400]}}`), 0o600, true); err != nil {
			t.Fatal(err)
		}
		remember(t, s.Memory(), "codex", "s1", "mode", "plan")
		content, err := durable.ReadFile(disk, path, 1000)
		if err != nil || !bytes.Contains(content, []byte("1e400")) {
			t.Errorf("%s, %v", content, err)
		}
	})
	t.Run("a broken file is noted, set aside by the next change, and never overwritten", func(t *testing.T) {
		for _, content := range []string{"", "{", "null", `{"version":0}`, `{"version":1,"remembered":null}`, `{"version":1,"remembered":{"a":"b"}}`} {
			disk := crashfs.New(1)
			s := stateOn(t, disk)
			if err := durable.Replace(disk, s.Path(memoryFile), []byte(content), 0o600, true); err != nil {
				t.Fatal(err)
			}
			m := s.Memory()
			wantRecall(t, m, "codex", "s1", "mode", "")
			if len(s.Notes()) != 1 {
				t.Errorf("%q: notes %q", content, s.Notes())
			}
			remember(t, m, "codex", "s1", "mode", "plan")
			wantRecall(t, m, "codex", "s1", "mode", "plan")
			aside, err := durable.ReadFile(disk, s.Path(memoryFile+brokenSuffix+"1"), 1000)
			if err != nil || string(aside) != content {
				t.Errorf("set aside: %q, %v; want %q", aside, err, content)
			}
		}
	})
	t.Run("a newer file is left alone", func(t *testing.T) {
		disk := crashfs.New(1)
		s := stateOn(t, disk)
		if err := durable.Replace(disk, s.Path(memoryFile), []byte(`{"version":2}`), 0o600, true); err != nil {
			t.Fatal(err)
		}
		var newer *VersionError
		if err := s.Memory().Remember(ctx, "codex", "s1", "mode", "plan"); !errors.As(err, &newer) {
			t.Errorf("%v", err)
		}
	})
	t.Run("what is too long or no text is refused without quoting it", func(t *testing.T) {
		m := stateOn(t, crashfs.New(1)).Memory()
		remember(t, m, "codex", "s1", "mode", strings.Repeat("s", maxRemembered))
		for _, text := range []string{strings.Repeat("secret", maxRemembered), "secret\xff"} {
			if err := m.Remember(ctx, "codex", "s1", "mode", text); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%.200v", err)
			}
		}
	})
	t.Run("goroutines and processes lose nothing of each other", func(t *testing.T) {
		disk := crashfs.New(1)
		var all sync.WaitGroup
		for p := range 4 {
			m := stateOn(t, disk).Memory()
			for g := range 4 {
				all.Go(func() { remember(t, m, "codex", fmt.Sprint(p), fmt.Sprint(g), "x") })
			}
		}
		all.Wait()
		m := stateOn(t, disk).Memory()
		for p := range 4 {
			for g := range 4 {
				wantRecall(t, m, "codex", fmt.Sprint(p), fmt.Sprint(g), "x")
			}
		}
	})
	t.Run("the loss of power at any step loses nothing that was remembered", func(t *testing.T) {
		for _, survival := range []float64{0, 0.5, 1} {
			for k, done := 0, false; !done; k++ {
				disk := crashfs.New(uint64(k))
				disk.SetSurvival(survival)
				remember(t, stateOn(t, disk).Memory(), "codex", "s1", "mode", "plan")
				m := stateOn(t, disk).Memory()
				disk.StopBefore(k)
				err := m.Remember(ctx, "codex", "s2", "mode", "default")
				done = !disk.Stopped()
				disk.Crash()
				s := stateOn(t, disk)
				m = s.Memory()
				wantRecall(t, m, "codex", "s1", "mode", "plan")
				if got, found := m.Recall("codex", "s2", "mode"); err == nil && got != "default" || found && got != "default" {
					t.Errorf("step %d: %q, %t after %v", k, got, found, err)
				}
				if len(s.Notes()) != 0 {
					t.Errorf("step %d: %q", k, s.Notes())
				}
			}
		}
	})
}

func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"version":1}`, `{"version":2}`, `{"version":1,"remembered":{"codex":{"":{"mode":"plan"},"s":null}},"more":{"a":[1e400]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		kept, err := parseMemory(memoryFile, content)
		if err != nil {
			var corrupt *CorruptError
			var version *VersionError
			if !errors.As(err, &corrupt) && !errors.As(err, &version) {
				t.Fatalf("neither damage nor a newer version: %v", err)
			}
			return
		}
		again, err := kept.encode()
		if err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
		same, err := parseMemory(memoryFile, again)
		if err != nil || !reflect.DeepEqual(same.texts, kept.texts) {
			t.Fatalf("read %v, wrote and read %v, %v", kept, same, err)
		}
	})
}
