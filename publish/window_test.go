package publish

import (
	"slices"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/publish/document"
)

// TestAnIdlePassLeavesTheWindowAndTheNextGenerationMovesIt lets every session get older than
// the recent index reaches: an idle pass writes nothing, so a reader goes by the time of the
// rows, which come newest first. The next generation holds only what is in its window.
func TestAnIdlePassLeavesTheWindowAndTheNextGenerationMovesIt(t *testing.T) {
	d := fakedriver.New("codex")
	b := newBed(t, d)
	begin := func(id string) {
		now := stamp(b.pass.Now)
		d.Session(id, lines(2, 0)...).Summarized(id, collect.Summary{UpdatedAt: &now})
		b.publish()
	}
	begin("old")
	b.pass.Now = b.pass.Now.AddDate(0, 0, 3)
	begin("newer")
	recent := func() (keys []string) {
		last := ""
		err := b.view().Newest(func(row *document.Row) error {
			if keys = append(keys, row.Key); last != "" && *row.UpdatedAt > last {
				t.Errorf("%s of %s comes after one of %s", row.Key, *row.UpdatedAt, last)
			}
			last = *row.UpdatedAt
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if root := b.view().Root(); root.Total-root.Older != len(keys) {
			t.Errorf("%d of %d are older, and %q recent", root.Older, root.Total, keys)
		}
		return keys
	}
	generation := b.view().Root().Generation
	b.pass.Now = b.pass.Now.AddDate(0, 0, 5)
	if r := b.publish(); r.Documents != 0 || r.Generation != generation {
		t.Errorf("an idle pass writes %d documents, generation %d", r.Documents, r.Generation)
	}
	if got := recent(); !slices.Equal(got, []string{"codex/newer", "codex/old"}) {
		t.Errorf("after an idle pass: %q", got)
	}
	begin("newest")
	if got := recent(); !slices.Equal(got, []string{"codex/newest", "codex/newer"}) {
		t.Errorf("after the next generation: %q", got)
	}
}
