//go:build unix

package life_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// A head that is signed as it must be may still name a manifest that nobody should obey.
func TestAManifestThatIsNoneChangesNothing(t *testing.T) {
	file := func(path string, size int64) string {
		return fmt.Sprintf(`{"executable":false,"hash":"%064x","kind":"file","path":"%s","size":"%d"}`, len(path), path, size)
	}
	folder := `{"kind":"directory","path":"a"},`
	for name, entries := range map[string]string{
		"outside":             file("../evil", 4),
		"outside from inside": folder + `{"kind":"directory","path":"a/.."},` + file("a/../../evil", 4),
		"absolute":            file("/tmp/evil", 4),
		"below a file":        file("a", 4) + "," + file("a/evil", 4),
		"twice":               file("evil", 4) + "," + file("evil", 4),
		"no directory":        file("a/evil", 4),
		"endless":             file("evil", math.MaxInt64) + "," + file("evil2", math.MaxInt64),
		"other text":          strings.Repeat("x", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			s := mem.New()
			e := newEnd(t, s, "here").bind(dirsync.Both)
			e.write("mine", "mine")
			d := hostile(t, e, `{"entries":[`+entries+`],"format":"fs-agent.files","version":1}`)
			var damaged *dataset.DamagedError
			if _, err := e.open().Preview(ctx, dirsync.Accepts{}); !errors.As(err, &damaged) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if r, err := dataset.Check(ctx, d.Options, false, nil); err != nil || len(r.Problems) != 1 {
				t.Errorf("%+v, %v", r.Problems, err)
			}
			if got := e.files(); !maps.Equal(got, map[string]string{"mine": "mine"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

// hostile publishes a text as the dataset's manifest.
func hostile(t *testing.T, e *end, manifest string) *dataset.Dataset {
	t.Helper()
	d := dataset.Open(e.Datasets, "notes")
	sum := digest.Sum([]byte(manifest))
	must(t, store.PutOnce(ctx, e.Datasets.Store, store.ObjectName(sum), []byte(manifest)))
	_, err := d.Publish(ctx, nil, sum, "hostile", e.now)
	must(t, err)
	return d
}

// What a manifest may say and this system cannot hold is left alone, and the rest goes on.
func TestWhatAManifestAsksForInVainIsLeft(t *testing.T) {
	s := mem.New()
	e := newEnd(t, s, "here").bind(dirsync.Both)
	content := []byte("content")
	must(t, store.PutOnce(ctx, s, store.ObjectName(digest.Sum(content)), content))
	entry := func(path string, size int64) dirsync.Node {
		return dirsync.Node{Path: path, Entry: dirsync.Entry{Kind: dirsync.File, Digest: digest.Sum(content), Size: size}}
	}
	folder := func(path string) dirsync.Node {
		return dirsync.Node{Path: path, Entry: dirsync.Entry{Kind: dirsync.Directory}}
	}
	huge := entry("huge", 1<<60)
	huge.Digest = digest.Sum([]byte("of another size"))
	must(t, store.PutOnce(ctx, s, store.ObjectName(huge.Digest), []byte("of another size")))
	tree := dirsync.NewTree([]dirsync.Node{
		entry("good", 7), huge, entry(strings.Repeat("n", 256), 7),
		folder(dirsync.ControlFolder), entry(dirsync.ControlFolder+"/x", 7),
		folder(strings.ToUpper(dirsync.ControlFolder)), entry(strings.ToUpper(dirsync.ControlFolder)+"/x", 7),
	})
	hostile(t, e, string(dirsync.EncodeManifest(tree)))
	a := e.sync()
	if a.Applied != 1 || a.Left != 1 || a.Failed != 0 || a.Results[0].Path != "huge" || a.Results[0].State != "damaged" {
		t.Errorf("%+v", a)
	}
	if got := e.files(); !maps.Equal(got, map[string]string{"good": "content"}) {
		t.Errorf("%q", got)
	}
	if _, err := os.Lstat(filepath.Join(e.root, dirsync.ControlFolder)); err == nil {
		t.Error("the staging folder is left")
	}
}
