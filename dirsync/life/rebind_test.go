//go:build unix

package life_test

import (
	"os"
	"path/filepath"
	"testing"

	"agentsync/dirsync"
	"agentsync/publish/store/mem"
)

func TestABindingStartsWithoutWhatAnUnbindingThatDiedHasLeft(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	here.write("a", "agreed")
	here.sync()
	there.sync()
	here.write("a", "changed")
	here.sync()

	must(t, os.Remove(filepath.Join(there.Dir, "notes", "binding.json")))
	there.root = filepath.Join(filepath.Dir(there.root), "another")
	must(t, os.Mkdir(there.root, 0o755))
	there.write("a", "agreed")
	p := there.bind(dirsync.Both).preview(dirsync.Accepts{})
	if len(p.Plan.Actions) > 0 || len(p.Plan.Conflicts) != 1 {
		t.Errorf("%+v", p.Plan)
	}
}
