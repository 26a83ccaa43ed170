package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// VerifyOptions say how much to check.
type VerifyOptions struct {
	Deep     bool // recompute every canonical hash
	Workers  int
	Progress func(done, total int, what string) // from several goroutines in turn
}

// VerifyReport says what was checked. Nothing is damaged when Problems is empty.
type VerifyReport struct {
	Generations, Packs, Documents, Sessions int
	Bytes                                   int64 // of packs
	Hashes                                  int   // canonical hashes recomputed
	Unneeded                                int   // documents that no kept generation links to
	Producers, Commands, Claims, Outcomes   int   // valid ones
	Lists                                   int   // kept states of the list of receipts
	Healths                                 int   // valid records of last passes
	Problems                                []VerifyProblem
	Refused                                 []collect.Problem // in the queues, no damage: nothing ever runs it; by name
	// Damaged are the keys of sessions whose copy in the newest generation is damaged. A
	// full pass writes them anew, where their sources still have them.
	Damaged []string
}

// VerifyProblem is one thing that is not what it must be.
type VerifyProblem struct {
	What    string // head or pack name, or session key
	Message string
}

// Verify checks everything that a kept generation reaches: signatures and the chain
// of heads, every link, every pack to the byte, every frame's checksum, every
// document's name; with Deep also every chunk, snapshot and manifest hash. It checks
// every queue, every receipt and every record of a last pass. It is read-only and goes
// on after damage. An error means that the check itself could not be done.
func (t *Target) Verify(ctx context.Context, o VerifyOptions) (VerifyReport, error) {
	v := &verification{Target: t, VerifyOptions: o, ctx: ctx,
		links: map[document.Link]*wanted{}, pages: map[document.Link]bool{}}
	if err := t.Current(ctx); err != nil {
		return v.report, err
	}
	if err := v.structure(); err != nil {
		return v.report, err
	}
	if err := v.remote(); err != nil {
		return v.report, err
	}
	if err := v.checkPacks(); err != nil {
		return v.report, err
	}
	if err := v.nameDamage(); err != nil {
		return v.report, err
	}
	if o.Deep {
		return v.report, v.checkSessions()
	}
	return v.report, nil
}

type verification struct {
	*Target
	VerifyOptions
	ctx    context.Context
	lib    *library
	mu     sync.Mutex
	links  map[document.Link]*wanted // every link found, and what it must lead to
	pages  map[document.Link]bool    // pages walked
	rows   []*document.Row           // one for each manifest
	newest *generation
	spoilt map[document.Link]error // what is damaged in packs
	broken []brokenRow             // rows whose manifests cannot be read
	report VerifyReport
}

func (v *verification) problem(what string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Problems = append(v.report.Problems, VerifyProblem{what, err.Error()})
}

// tolerate turns damage into a problem and returns nil; any other error is
// returned.
func (v *verification) tolerate(what string, err error) error {
	if err == nil || v.ctx.Err() != nil {
		return err
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) || store.Spoilt(err) {
		v.problem(what, err)
		return nil
	}
	return err
}

// structure walks from every kept head of the sessions to every link.
func (v *verification) structure() error {
	v.lib = v.library(v.ctx)
	err := v.chain(sessionsHead, func(g *generation) error {
		v.report.Generations++
		err := v.walkRoot(g)
		if v.newest == nil {
			v.newest = g
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.walkRows()
}

// chain checks every kept state of a head, the newest first, that each was put over the
// one before, and that none is missing between two.
func (v *verification) chain(which string, visit func(*generation) error) error {
	numbers, err := store.Numbers(v.ctx, v.Store, which)
	if err != nil {
		return fmt.Errorf("list the heads of %s: %w", which, err)
	}
	slices.Sort(numbers)
	var after *generation
	above := uint64(0)
	for _, n := range slices.Backward(numbers) {
		name := store.HeadName(which, n)
		g, err := v.readHead(v.lib, which, n)
		if errors.Is(err, store.ErrNotFound) && after != nil {
			continue // pruned since it was listed
		}
		if after != nil && n+1 < above {
			v.problem(name, fmt.Errorf("%d between it and the next one, number %d, are missing", above-n-1, above))
		}
		above = n
		if err != nil {
			if err := v.tolerate(name, err); err != nil {
				return err
			}
			continue
		}
		if after != nil && after.head.Generation == g.head.Generation+1 && after.head.Previous != g.text.String() {
			v.problem(name, errors.New("the next head was put over another one"))
		}
		after = g
		if err := v.tolerate(name, visit(g)); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) walkRoot(g *generation) error {
	v.want(g.head.Root)
	root, err := v.lib.root(g.head.Root)
	if err != nil {
		return err
	}
	g.root = root
	for _, tree := range []struct {
		nodes []document.Child
		page  func(document.Child) error
	}{{root.All, v.walkPage}, {root.Recent, v.walkRecent}} {
		for _, node := range tree.nodes {
			if v.visited(node.Link) {
				continue
			}
			pages, err := v.lib.children(node.Link)
			if err != nil {
				return err
			}
			for _, page := range pages {
				if v.visited(page.Link) {
					continue
				}
				if err := tree.page(page); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (v *verification) visited(link document.Link) bool {
	if v.pages[link] {
		return true
	}
	v.pages[link] = true
	v.want(link)
	return false
}

func (v *verification) walkPage(page document.Child) error {
	rows, err := v.lib.rows(page.Link)
	if err != nil {
		return err
	}
	if len(rows) != page.Count || len(rows) == 0 || rows[0].Key != page.First {
		return &DamagedError{store.PackName(page.Link.Pack.Name), errors.New("an index page is another page")}
	}
	for _, row := range rows {
		at := row.TableAt
		if at.IsZero() {
			at = row.Table.Manifest
		}
		if !v.pages[at] {
			v.pages[at] = true
			v.rows = append(v.rows, row.States()...)
		}
	}
	return nil
}

func (v *verification) walkRecent(page document.Child) error {
	rows, err := v.lib.recent(page.Link)
	if err == nil && len(rows) != page.Count {
		err = &DamagedError{store.PackName(page.Link.Pack.Name), errors.New("a recent page is another page")}
	}
	return err
}

// walkRows notes the documents of every session.
func (v *verification) walkRows() error {
	causes := v.causes()
	return parallel(v.ctx, v.Workers, len(v.rows), func(ctx context.Context, next func() int) error {
		lib := v.library(ctx)
		for i := next(); i >= 0; i = next() {
			row := v.rows[i]
			m, table, err := lib.manifest(row)
			if err == nil {
				v.note(causes, row, m, table)
			} else if err := v.noteBroken(row, table, err); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *verification) note(causes hashgraph.Causes, row *document.Row, m *document.Manifest, table document.Table) {
	id := hashgraph.CellID(causes.Session(m.SourceID, m.NativeSessionID, m.Driver, m.ManifestHash))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Sessions++
	if !row.TableAt.IsZero() {
		v.want(row.TableAt)
	}
	v.want(table.Manifest).id = id
	for i, link := range table.Chunks {
		w := v.want(link)
		w.chunks = append(w.chunks, m.Chunks[i].ContentHash)
	}
	for _, link := range table.ChunkPages {
		v.want(link)
	}
}

// want notes a link.
func (v *verification) want(link document.Link) *wanted {
	link = v.canonical(link)
	if v.links[link] == nil {
		v.links[link] = &wanted{length: link.Length}
	}
	return v.links[link]
}

// canonical makes links comparable that different libraries read.
func (v *verification) canonical(l document.Link) document.Link {
	l.Pack = v.lib.packs.Of(l.Pack.Name)
	return l
}

// checkPacks reads every pack that a link leads into.
func (v *verification) checkPacks() error {
	byPack := map[digest.Digest]map[int64]*wanted{}
	for link, w := range v.links {
		name := link.Pack.Name
		if byPack[name] == nil {
			byPack[name] = map[int64]*wanted{}
		}
		byPack[name][link.Offset] = w
	}
	names := make([]digest.Digest, 0, len(byPack))
	for name := range byPack {
		names = append(names, name)
	}
	return parallel(v.ctx, v.Workers, len(names), func(ctx context.Context, next func() int) error {
		lib := v.library(ctx)
		for i := next(); i >= 0; i = next() {
			if err := v.checkPack(lib, names[i], byPack[names[i]], len(names)); err != nil {
				return err
			}
		}
		return nil
	})
}

// wanted is what a link expects at its place.
type wanted struct {
	length int64
	id     string          // "" for any
	chunks []digest.Digest // content hashes of the chunks that must be in the frame
}

func (v *verification) checkPack(lib *library, name digest.Digest, want map[int64]*wanted, total int) error {
	var text []byte
	found, documents := 0, 0
	var bytes int64
	err := pack.Verify(lib.ctx, v.Store, name, func(e pack.Entry, frame []byte) error {
		documents++
		bytes += e.Length
		w := want[e.Offset]
		if w != nil {
			found++
		}
		err := v.checkFrame(lib, name, e, frame, w, &text)
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			v.spoil(name, e.Offset, e.Length, err)
			return nil
		}
		return err
	})
	var corrupt *pack.CorruptError
	if errors.As(err, &corrupt) || store.Spoilt(err) {
		err = &DamagedError{store.PackName(name), err}
		for offset, w := range want {
			v.spoil(name, offset, w.length, nil)
		}
	}
	if err == nil && found < len(want) {
		err = &DamagedError{store.PackName(name), fmt.Errorf("%d links lead to no document", len(want)-found)}
	}
	if err := v.tolerate(store.PackName(name), err); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Packs++
	v.report.Documents += documents
	v.report.Unneeded += documents - found
	v.report.Bytes += bytes
	if v.Progress != nil {
		v.Progress(v.report.Packs, total, store.PackName(name))
	}
	return nil
}

// checkEntry compares one document with its name and with the link to it.
func checkEntry(name digest.Digest, e pack.Entry, text []byte, w *wanted) error {
	bad := func(format string, args ...any) error {
		return &DamagedError{store.PackName(name), fmt.Errorf("document at %d "+format, append([]any{e.Offset}, args...)...)}
	}
	if strings.HasPrefix(e.ID, "sha256:") && digest.Sum(text).String() != e.ID {
		return bad("is not the content that its name says")
	}
	if w == nil {
		return nil
	}
	if w.length != e.Length || w.id != "" && w.id != e.ID || !holds(text, w.chunks) {
		return bad("is not the one that is linked")
	}
	return nil
}

// holds reports that a frame has a chunk of each of the content hashes.
func holds(frame []byte, hashes []digest.Digest) bool {
	if len(hashes) == 0 {
		return true
	}
	has := map[digest.Digest]bool{}
	err := document.EachChunk(frame, func(hash digest.Digest, _ []byte) bool {
		has[hash] = true
		return true
	})
	for _, hash := range hashes {
		if !has[hash] {
			return false
		}
	}
	return err == nil
}

// checkSessions recomputes the canonical hashes of every session.
func (v *verification) checkSessions() error {
	done := 0
	return parallel(v.ctx, v.Workers, len(v.rows), func(ctx context.Context, next func() int) error {
		lib, hasher := v.library(ctx), &hashgraph.Hasher{}
		s := &Session{lib: lib}
		for i := next(); i >= 0; i = next() {
			row := v.rows[i]
			hashes, err := deepCheck(s, row, hasher, v.causes())
			if err := v.tolerate(row.Key, err); err != nil {
				return err
			}
			v.mu.Lock()
			v.report.Hashes += hashes
			done++
			if v.Progress != nil {
				v.Progress(done, len(v.rows), row.Key)
			}
			v.mu.Unlock()
		}
		return nil
	})
}

// deepCheck recomputes the hashes of one session and counts them. It reuses the
// session's buffers.
func deepCheck(s *Session, row *document.Row, hasher *hashgraph.Hasher, causes hashgraph.Causes) (int, error) {
	m, table, err := s.lib.manifest(row)
	if err != nil {
		return 0, err
	}
	s.Row, s.Manifest, s.table, s.frame = row, m, table, document.Link{}
	bad := func(format string, args ...any) error {
		return &DamagedError{row.Key, fmt.Errorf(format, args...)}
	}
	var values []value.Value
	var messages hashgraph.Messages
	var recent recentTexts
	for n := range s.Parts() {
		c, err := s.Part(n)
		if err != nil {
			return n, err
		}
		values = values[:0]
		for i := range c.Events {
			values = append(values, c.Events[i].Value)
		}
		if hasher.StableArray(values) != c.ContentHash {
			return n, bad("part %d does not have the content hash it is named by", n)
		}
		for _, v := range c.Normalized {
			messages.Add(hasher, v.Path("id").Str(), v)
			if messages.Len() > m.Messages-document.RecentMost {
				recent.add(value.AppendText(nil, v))
			}
		}
	}
	if !sameRecent(m, &recent) {
		return s.Parts(), bad("its recent messages are not its last ones")
	}
	if hashgraph.SnapshotHash(hasher, snapshotValue(m), &messages) != m.SnapshotHash || m.SnapshotHash != row.ContentHash {
		return s.Parts(), bad("snapshot hash differs")
	}
	if hashgraph.ManifestHash(hasher, logicalManifest(causes, m), &messages) != m.ManifestHash {
		return s.Parts() + 1, bad("manifest hash differs")
	}
	return s.Parts() + 2, nil
}

// parallel lets workers take the numbers below n, each once, and returns the first
// error after all have stopped. next gives -1 when there is nothing left.
func parallel(ctx context.Context, workers, n int, work func(ctx context.Context, next func() int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	at := 0
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		if at == n || ctx.Err() != nil {
			return -1
		}
		at++
		return at - 1
	}
	workers = max(1, min(workers, n))
	errs := make(chan error)
	for range workers {
		go func() { errs <- work(ctx, next) }()
	}
	var first error
	for range workers {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if first == nil {
		first = ctx.Err()
	}
	return first
}
