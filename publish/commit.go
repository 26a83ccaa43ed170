package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// commit makes the pass's results the next generation, if they change anything.
func (w *work) commit() error {
	directories := w.observe()
	changed, err := w.changes(directories)
	if err != nil {
		return err
	}
	if changed, err = w.ordered(changed); err != nil {
		return err
	}
	w.settleClaims(changed)
	w.report.Unfinished = false
	if err := w.put(changed, w.sources, directories, false); err != nil {
		return err
	}
	return w.recordComplete()
}

// put writes the changes as the next generation, over whatever others put meanwhile.
func (w *work) put(changed []rowChange, sources func() []document.Source, dirs map[string]observation, onTheWay bool) error {
	for {
		w.report.Deleted = countStatus(changed, document.StatusDeleted)
		done, err := w.tryCommit(changed, sources(), dirs, onTheWay)
		if done {
			return nil
		}
		if err != nil && !w.overtaken() {
			return err
		}
		if changed, err = w.rebase(changed); err != nil {
			return err
		}
	}
}

// tryCommit writes one generation over the current base, which it then is. It reports
// false when another publisher put that generation first.
func (w *work) tryCommit(changed []rowChange, sources []document.Source, dirs map[string]observation, onTheWay bool) (bool, error) {
	root, same := w.nextRoot(changed, sources, dirs, onTheWay)
	if same {
		w.report.Generation = root.Generation
		w.remember(w.base, dirs)
		return true, nil
	}
	if w.DryRun {
		w.report.Generation = root.Generation
		return true, nil
	}
	link, err := w.writeIndex(root, changed)
	if err != nil {
		return false, err
	}
	g, err := w.putHead(w.ctx, w.base, &document.Head{Name: sessionsHead, Root: link, Time: stamp(w.Now)})
	if errors.Is(err, store.ErrExists) {
		return false, nil
	}
	if err != nil {
		return false, &storeError{err}
	}
	g.root = root
	w.report.Generation = root.Generation
	w.remember(g, dirs)
	w.base = g
	return true, nil
}

// nextRoot is the root to write, its pages left out, and whether it would say
// nothing new.
func (w *work) nextRoot(changed []rowChange, sources []document.Source, dirs map[string]observation, onTheWay bool) (*document.Root, bool) {
	root := &document.Root{OwnerDID: w.format.OwnerDID, SpaceDID: w.format.SpaceDID, Generation: 1, GeneratedAt: stamp(w.Now),
		Unfinished: onTheWay}
	var before document.Root
	if w.base != nil {
		before = *w.base.root
		root.Generation = before.Generation + 1
	}
	root.Total = totalAfter(before.Total, changed)
	root.Sources = mergeSources(before.Sources, sources)
	root.Checkouts = mergeCheckouts(before.Checkouts, w.checkouts(dirs), w.Installation, !onTheWay && w.whole())
	same := w.base != nil && len(changed) == 0 && !w.lostRecent && before.Unfinished == onTheWay && slices.EqualFunc(root.Sources, before.Sources, document.Source.Equal) &&
		slices.EqualFunc(root.Checkouts, before.Checkouts, sameCheckout)
	if same {
		return w.base.root, true
	}
	return root, false
}

// whole reports that every source gave all it has.
func (w *work) whole() bool {
	if len(w.tallies) == 0 {
		return false // nobody looked
	}
	for i := range w.tallies {
		if t := &w.tallies[i]; t.partial || !t.whole() {
			return false
		}
	}
	return true
}

// writeIndex writes the changed pages and the root into the open pack, and makes
// all packs durable.
func (w *work) writeIndex(root *document.Root, changed []rowChange) (document.Link, error) {
	if err := w.packer.settle(); err != nil {
		return document.Link{}, err
	}
	files, err := w.files()
	if err != nil {
		return document.Link{}, err
	}
	chosen, full := chooseMerge(files)
	s, gone := shelf{w.packer, w.bench(0).encoder, chosen}, map[digest.Digest]bool{}
	if changed, err = w.merge(s.merged, gone, changed); err != nil {
		return document.Link{}, err
	}
	root.Files = w.drop(files, s.merged, gone, full >= sweepTier, changed)
	if err := w.writePages(s, root, changed); err != nil {
		return document.Link{}, err
	}
	link, err := w.packer.write(s.enc, root.Text())
	if err != nil {
		return document.Link{}, err
	}
	return link, w.packer.cut()
}

func (w *work) writePages(s shelf, root *document.Root, changed []rowChange) error {
	var before document.Root
	if w.base != nil {
		before = *w.base.root
	}
	rows := make([]change[*document.Row], 0, len(changed))
	for _, c := range changed {
		if err := s.placeTables(c.row); err != nil {
			return err
		}
		rows = append(rows, change[*document.Row]{order: c.row.Key, row: c.row})
	}
	slices.SortFunc(rows, func(a, b change[*document.Row]) int { return strings.Compare(a.order, b.order) })
	pages, err := w.index.all()
	if err != nil {
		return err
	}
	if pages, err = s.rows(w.index).apply(pages, rows); err != nil {
		return fmt.Errorf("write the session index: %w", err)
	}
	if root.All, err = s.nodes(w.index.lib, before.All, pages); err != nil {
		return fmt.Errorf("write the session index: %w", err)
	}
	if !w.lostRecent {
		err := w.writeRecent(s, root, before.Recent, recentChanges(changed, w.Now))
		var damaged *DamagedError
		if !errors.As(err, &damaged) {
			return err
		}
	}
	w.report.Notes = append(w.report.Notes, collect.Problem{Code: "mended", Message: "the index of recent sessions was damaged, and is written anew"})
	all, err := w.allRecent(changed)
	if err != nil {
		return err
	}
	return w.writeRecent(s, root, nil, all)
}

// allRecent are the changes that make the recent index from nothing.
func (w *work) allRecent(changed []rowChange) ([]change[document.Recent], error) {
	var rows []rowChange
	now := map[string]bool{}
	for _, c := range changed {
		rows = append(rows, rowChange{row: c.row})
		now[c.row.Key] = true
	}
	err := w.index.each(func(row *document.Row) error {
		if !now[row.Key] {
			rows = append(rows, rowChange{row: row})
		}
		return nil
	})
	return recentChanges(rows, w.Now), err
}

// checkIndex reads the whole index of the last generation, as far as no session is asked
// for it. What is damaged is an error, but for the index of recent sessions, which the
// other one holds too.
func (w *work) checkIndex() error {
	if w.base == nil {
		return nil
	}
	if err := w.index.each(func(*document.Row) error { return nil }); err != nil {
		return err
	}
	err := w.eachRecent(w.base.root.Recent)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		w.lostRecent = true
		return nil
	}
	return err
}

func (w *work) eachRecent(nodes []document.Child) error {
	for _, node := range nodes {
		pages, err := w.index.lib.children(node.Link)
		if err != nil {
			return err
		}
		for _, page := range pages {
			if _, err := w.index.lib.recent(page.Link); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeTables gives the long tables of a session and its kept copies documents of their own.
func (s shelf) placeTables(row *document.Row) error {
	for i := range row.Copies {
		c := &row.Copies[i]
		was := c.Of(row)
		if err := s.placeTable(was); err != nil {
			return err
		}
		c.Table, c.TableAt = was.Table, was.TableAt
	}
	return s.placeTable(row)
}

// placeTable gives a long table a document of its own.
func (s shelf) placeTable(row *document.Row) error {
	if !row.TableAt.IsZero() || row.Table.Len() <= document.InlineDocuments {
		return nil
	}
	link, err := s.packer.write(s.enc, row.Table.Text(row.Key))
	if err != nil {
		return fmt.Errorf("write the table of %s: %w", row.Key, err)
	}
	row.TableAt, row.Table = link, document.Table{}
	return nil
}

// writeRecent applies the changes and drops what left the window.
func (w *work) writeRecent(s shelf, root *document.Root, nodes []document.Child, changes []change[document.Recent]) error {
	lib := w.index.lib
	var pages []document.Child
	for _, node := range nodes {
		children, err := lib.children(node.Link)
		if err != nil {
			return err
		}
		pages = append(pages, children...)
	}
	cutoff := stamp(w.Now.Add(-recentWindow))
	for len(pages) > 1 && pages[1].First < cutoff { // the whole first page left it
		pages = pages[1:]
	}
	if len(pages) > 0 && pages[0].First < cutoff {
		rows, err := lib.recent(pages[0].Link)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.UpdatedAt < cutoff {
				changes = append(changes, change[document.Recent]{order: row.Order(), remove: true})
			}
		}
		slices.SortStableFunc(changes, func(a, b change[document.Recent]) int { return strings.Compare(a.order, b.order) })
		changes = slices.CompactFunc(changes, func(a, b change[document.Recent]) bool { return a.order == b.order })
	}
	pages, err := s.recent(lib).apply(pages, changes)
	if err != nil {
		return fmt.Errorf("write the recent index: %w", err)
	}
	count := 0
	for _, page := range pages {
		count += page.Count
	}
	root.Older = root.Total - count
	root.Recent, err = s.nodes(lib, nodes, pages)
	return err
}

// files lists the packs that the new generation may link to, its own left out.
func (w *work) files() ([]document.File, error) {
	var out []document.File
	if w.base != nil {
		own := w.base.head.Root.Pack
		size, err := w.Store.Stat(w.ctx, store.PackName(own.Name))
		if err != nil {
			return nil, &storeError{fmt.Errorf("pack of the last generation: %w", err)}
		}
		out = append(slices.Clone(w.base.root.Files), document.File{Pack: own, Size: size})
	}
	return append(out, w.packer.files...), nil
}

// changes are the rows that this pass changes.
func (w *work) changes(dirs map[string]observation) ([]rowChange, error) {
	next := int64(1)
	if w.base != nil {
		next = w.base.root.Generation + 1
	}
	var out []rowChange
	seen := map[string]bool{}
	add := func(prior, row *document.Row) {
		if row != nil {
			out = append(out, w.change(prior, row))
		}
	}
	for i := range w.results {
		r := &w.results[i]
		seen[r.session.Source+"\x00"+r.session.NativeID] = true
		if !r.settled {
			add(r.prior, r.outcome(next))
		}
	}
	for i := range w.tallies {
		t := &w.tallies[i]
		for _, native := range t.retained {
			seen[t.source.ID+"\x00"+native] = true
		}
		if err := w.unread(t, dirs, add); err != nil {
			return nil, err
		}
		if t.partial {
			continue
		}
		missing, err := w.missing(t, seen)
		if err != nil {
			return nil, err
		}
		for _, prior := range missing {
			if row := unseen(prior, t.verdict.deleted[prior.Key], w.Now); row != nil {
				add(prior, row)
				out[len(out)-1].unseen = true
			}
		}
	}
	return out, nil
}

// outcome is the row to publish for a session that was read or could not be, nil when the
// index says the same already.
func (r *result) outcome(generation int64) *document.Row {
	if r.failed {
		return failed(r.prior)
	}
	return adopt(r.trusted(), r.row, generation)
}

// change is a row of this observation in the place of the prior one.
func (w *work) change(prior, row *document.Row) rowChange {
	if prior != nil {
		row.Keep(prior)
	}
	row.Observed = w.number
	return rowChange{prior: prior, row: row}
}

// published finds the row of a source's session.
func (w *work) published(t *tally, native string) (*document.Row, error) {
	key, err := collect.SessionKey(t.source.ID, native)
	if err != nil {
		return nil, err
	}
	return w.index.find(key)
}

// unread gives the sessions of a source that were retained their Git context.
func (w *work) unread(t *tally, dirs map[string]observation, add func(prior, row *document.Row)) error {
	for _, native := range t.retained {
		c := w.claims.get(t.source.ID, native)
		dir := dirs[c.Cwd]
		if c.Status == document.StatusComplete && !dir.changed {
			continue
		}
		prior, err := w.published(t, native)
		if err != nil {
			return err
		}
		if prior != nil {
			add(prior, retained(prior, dir.git, dir.observed, dir.failed))
		}
	}
	return nil
}

// observation is what Git said of one directory in this pass.
type observation struct {
	git      document.Git
	failed   bool
	observed bool
	changed  bool // differs from what was published
}

// observe asks Git about the directories of retained sessions, each once.
func (w *work) observe() map[string]observation {
	out := map[string]observation{}
	if w.Git == nil {
		return out
	}
	for _, t := range w.tallies {
		for _, native := range t.retained {
			dir := w.claims.get(t.source.ID, native).Cwd
			if _, done := out[dir]; done || dir == "" {
				continue
			}
			git, failed := w.Git(dir)
			known, ok := w.claims.git[dir]
			out[dir] = observation{git, failed, true, !failed && (!ok || known != gitPrint(git))}
		}
	}
	for i := range w.results {
		if row := w.results[i].row; row != nil && row.Cwd != nil {
			if _, done := out[*row.Cwd]; !done {
				git, failed := w.Git(*row.Cwd)
				out[*row.Cwd] = observation{git: git, failed: failed, observed: true}
			}
		}
	}
	return out
}

// gitPrint fingerprints a Git context, its time left out.
func gitPrint(g document.Git) uint64 {
	var parts []string
	for _, s := range []*string{g.Repo, g.Branch, g.WorktreeRoot, g.HeadSHA} {
		if s == nil {
			parts = append(parts, "-")
		} else {
			parts = append(parts, "+"+*s)
		}
	}
	for _, r := range g.Remotes {
		parts = append(append(parts, r.Name), r.URLs...)
	}
	return xxhash.Sum64String(strings.Join(parts, "\x00"))
}

// settleClaims brings the claims in step with what is about to be published.
func (w *work) settleClaims(changed []rowChange) {
	for i := range w.results {
		if r := &w.results[i]; !r.failed && !r.settled {
			w.claims.put(&r.claim)
			w.claims.stale = true
		}
	}
	w.claimChanged(changed)
}

func (w *work) claimChanged(changed []rowChange) {
	for _, c := range changed {
		w.claims.put(rowClaim(c.row, w.claims.get(c.row.SourceID, c.row.NativeSessionID)))
		w.claims.stale = true
	}
}

// remember saves the claims for the generation g.
func (w *work) remember(g *generation, dirs map[string]observation) {
	if w.DryRun {
		return
	}
	for dir, o := range dirs {
		if o.observed && !o.failed && w.claims.git[dir] != gitPrint(o.git) {
			w.claims.git[dir] = gitPrint(o.git)
			w.claims.stale = true
		}
	}
	if g == w.base && !w.claims.stale {
		return
	}
	w.sweepRecalls()
	if err := w.saveClaims(w.claims, g); err != nil {
		w.report.Notes = append(w.report.Notes, collect.Problem{Code: "cache",
			Message: "the next pass will read every session: " + err.Error()})
	}
}
