package publish

import (
	"path/filepath"
	"slices"

	"agentsync/collect"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
)

// claimBook is the claims cache during one pass.
type claimBook struct {
	bySource map[string]map[string]*claim // source id, native id
	git      map[string]uint64
	stale    bool // what is in the file is not what is in the book
}

const claimsFile = "claims"

// openClaims loads the cache and checks it against the index: claims count when
// they were made for the very head that is the newest, and otherwise one by one for
// the rows that are still what they were.
func (t *Target) openClaims(ix *index, base *generation) (*claimBook, error) {
	book := &claimBook{bySource: map[string]map[string]*claim{}, git: map[string]uint64{}}
	if base == nil {
		return book, nil
	}
	cached := t.readClaims()
	if cached != nil && cached.Root == base.text {
		book.git = cached.Git
		for i := range cached.Rows {
			book.put(&cached.Rows[i])
		}
		return book, nil
	}
	book.stale = true
	known := map[string]*claim{}
	if cached != nil {
		for i := range cached.Rows {
			c := &cached.Rows[i]
			known[c.SourceID+"\x00"+c.NativeID] = c
		}
	}
	mine := map[string]bool{}
	for _, s := range base.root.Sources {
		mine[s.ID] = s.Installation == t.Installation
	}
	return book, ix.each(func(row *document.Row) error {
		if mine[row.SourceID] {
			book.put(rowClaim(row, known[row.SourceID+"\x00"+row.NativeSessionID]))
		}
		return nil
	})
}

// claimActive is the status in a claim of a session that was published while it was
// active: no stamp tells that it is not any more, so it is looked at again.
const claimActive = "active"

// rowClaim is the claim for a row as it stands in the index: with the stamp of the
// cached one when that was made for the same copy, else without.
func rowClaim(row *document.Row, cached *claim) *claim {
	c := &claim{SourceID: row.SourceID, NativeID: row.NativeSessionID}
	if cached != nil && cached.Manifest == row.ManifestHash {
		*c = *cached
	}
	c.Status, c.Manifest, c.Cwd, c.Place = row.Status, row.ManifestHash, "", row.Placement
	if row.Active != nil && *row.Active && c.Status == document.StatusComplete {
		c.Status = claimActive
	}
	if row.Cwd != nil {
		c.Cwd = *row.Cwd
	}
	return c
}

// claimOf is the claim that a session just read makes.
func claimOf(row *document.Row, t collect.Trailer) claim {
	c := *rowClaim(row, nil)
	c.Stamp, c.Prefix, c.End = t.Resume.Stamp, t.Resume.Prefix, t.Resume.Stamp.Size
	return c
}

// readClaims returns the cache, or nil: whatever is wrong with it, the pass goes on
// without.
func (t *Target) readClaims() *claims {
	if t.State == "" {
		return nil
	}
	file, err := durable.ReadFile(t.FS, filepath.Join(t.State, claimsFile), 1<<30)
	if err != nil {
		return nil
	}
	c, err := decodeClaims(file)
	if err != nil {
		return nil
	}
	return c
}

// saveClaims replaces the cache. It is not synced, and failing to write it fails
// nothing: a lost cache costs a re-read.
func (t *Target) saveClaims(book *claimBook, g *generation) error {
	if t.State == "" {
		return nil
	}
	c := &claims{Root: g.text, Git: book.git}
	for _, source := range sortedKeys(book.bySource) {
		c.Rows = slices.Grow(c.Rows, len(book.bySource[source]))
		for _, native := range sortedKeys(book.bySource[source]) {
			c.Rows = append(c.Rows, *book.bySource[source][native])
		}
	}
	return durable.Replace(t.FS, filepath.Join(t.State, claimsFile), c.encode(), 0o600, false)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (b *claimBook) put(c *claim) {
	if b.bySource[c.SourceID] == nil {
		b.bySource[c.SourceID] = map[string]*claim{}
	}
	b.bySource[c.SourceID][c.NativeID] = c
}

// places are where the sessions of a source were published from.
func (b *claimBook) places(source string) []collect.Known {
	known := make([]collect.Known, 0, len(b.bySource[source]))
	for native, c := range b.bySource[source] {
		known = append(known, collect.Known{Placement: collect.Placement(c.Place), NativeSessionID: native})
	}
	return known
}

// alive counts the sessions of a source that are not deleted.
func (b *claimBook) alive(source string) (n int) {
	for _, c := range b.bySource[source] {
		if c.Status != document.StatusDeleted {
			n++
		}
	}
	return n
}

func (b *claimBook) get(source, native string) *claim { return b.bySource[source][native] }

// holds reports that a listed session is published as it is and from where it lies, as
// far as its stamp tells.
func (b *claimBook) holds(source string, l collect.Listing) bool {
	c := b.get(source, l.NativeSessionID)
	return c != nil && l.Stamp != (collect.Stamp{}) && c.Stamp == l.Stamp &&
		c.Place.File() == document.Placement(l.Placement).File() &&
		(c.Status == document.StatusComplete || c.Status == document.StatusStale)
}

// resume is the claim that a session only grew since its published copy was made,
// or nil when nothing is known.
func (b *claimBook) resume(id identity, before *prior) *collect.Resume {
	c := b.get(id.sourceID, id.nativeID)
	if c == nil || before == nil || before.manifest == nil || c.Manifest != before.row.ManifestHash || c.End == 0 {
		return nil
	}
	parts := before.manifest.Chunks
	if len(parts) == 0 {
		return nil
	}
	stamp := c.Stamp
	stamp.Size = c.End
	return &collect.Resume{Stamp: stamp, Prefix: c.Prefix, At: parts[len(parts)-1].Start}
}
