package publish

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/publish/document"
)

// finish closes a session: it hashes the snapshot and, when that or a stored byte
// changed, writes a manifest. It returns the session's row without generation.
func (w *writer) finish(got hashgraph.Prepared, git document.Git, observedAt string) (*document.Row, error) {
	if err := w.releaseAll(); err != nil {
		return nil, err
	}
	s := got.Trailer.Summary
	m := &document.Manifest{
		OwnerDID: w.causes.OwnerDID, Key: w.key, SourceID: w.sourceID, Driver: w.driver,
		NativeSessionID: w.nativeID, Summary: summaryValue(s, git), ObservedAt: observedAt,
		Complete: got.Trailer.Complete, Damaged: w.damagedBefore + got.Damaged, Size: got.Trailer.Resume.At.Offset,
		Chunks: w.chunks, Messages: got.Messages,
	}
	var err error
	if m.Recent, err = w.recent.values(); err != nil {
		return nil, err
	}
	if got.Trailer.Revision != "" {
		m.Revision = &got.Trailer.Revision
	}
	m.SnapshotHash = hashgraph.SnapshotHash(w.prepare.Hasher(), snapshotValue(m), &w.digests)
	if w.unchanged(m) {
		m, w.table = w.prior.manifest, w.prior.table
	} else if err := w.writeManifest(m); err != nil {
		return nil, err
	}
	w.keepRecall()
	return w.row(m, s, git, got), nil
}

// unchanged reports that the prior copy is this one, to the byte.
func (w *writer) unchanged(m *document.Manifest) bool {
	old := w.prior
	return old != nil && w.fresh == 0 && old.manifest.SnapshotHash == m.SnapshotHash &&
		old.manifest.Driver == m.Driver && len(old.manifest.Chunks) == len(m.Chunks)
}

func (w *writer) writeManifest(m *document.Manifest) error {
	m.ManifestHash = hashgraph.ManifestHash(w.prepare.Hasher(), logicalManifest(w.causes, m), &w.digests)
	all := m.Chunks
	for len(m.Chunks) >= document.PageRows {
		n := len(m.ChunkPages)
		text := document.ChunkPage(w.key, n*document.PageRows, m.Chunks[:document.PageRows])
		link, err := w.settle(text, n, w.priorChunkPages())
		if err != nil {
			return fmt.Errorf("chunk descriptors: %w", err)
		}
		m.ChunkPages = append(m.ChunkPages, xxhash.Sum64(text))
		w.table.ChunkPages = append(w.table.ChunkPages, link)
		m.Chunks = m.Chunks[document.PageRows:]
	}
	id := hashgraph.CellID(w.causes.Session(w.sourceID, w.nativeID, w.driver, m.ManifestHash))
	link, err := w.write(id, m.Text())
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	m.Chunks, w.table.Manifest = all, link
	return nil
}

func (w *writer) priorChunkPages() settled {
	if w.prior == nil {
		return settled{}
	}
	return settled{w.prior.manifest.ChunkPages, w.prior.table.ChunkPages}
}

func (w *writer) row(m *document.Manifest, s collect.Summary, git document.Git, got hashgraph.Prepared) *document.Row {
	status := document.StatusComplete
	if !m.Complete {
		status = document.StatusPartial
	}
	return &document.Row{
		Key: w.key, SourceID: w.sourceID, Driver: w.driver, NativeSessionID: w.nativeID,
		Parent: s.Parent, Hidden: s.Hidden, Title: s.Title, Cwd: s.Cwd, Git: git,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Archived: s.Archived, Active: s.Active,
		StartedAs: s.StartedAs, ManifestHash: m.ManifestHash, ContentHash: m.SnapshotHash,
		Status: status, Size: m.Size, Events: got.Events, Messages: got.Messages, Damaged: m.Damaged,
		Placement: document.Placement(s.Placement), Table: w.table,
	}
}

// summaryValue renders a summary, enriched with what Git says of its directory.
func summaryValue(s collect.Summary, git document.Git) value.Value {
	b := value.NewBuilder().Record().Key("nativeSessionId").String(s.NativeSessionID)
	text := func(key string, v *string) {
		if b.Key(key); v == nil {
			b.Null()
		} else {
			b.String(*v)
		}
	}
	flag := func(key string, v *bool) {
		if b.Key(key); v == nil {
			b.Null()
		} else {
			b.Bool(*v)
		}
	}
	text("title", s.Title)
	text("cwd", s.Cwd)
	text("createdAt", s.CreatedAt)
	text("updatedAt", s.UpdatedAt)
	flag("archived", s.Archived)
	flag("active", s.Active)
	if s.StartedAs != "" {
		b.Key("startedAs").String(s.StartedAs)
	}
	if s.Parent != "" {
		b.Key("parent").String(s.Parent)
	}
	if s.Hidden {
		b.Key("hidden").Bool(true)
	}
	if b.Key("raw"); s.Raw.Kind() == value.Record {
		b.Value(s.Raw)
	} else {
		b.Record().End()
	}
	text("gitRepo", git.Repo)
	text("gitBranch", git.Branch)
	text("gitWorktreeRoot", git.WorktreeRoot)
	return b.End().Finish()
}

// snapshotValue is the record that the snapshot hash covers, its messages left out
// for the hash to fill in.
func snapshotValue(m *document.Manifest) value.Value {
	b := value.NewBuilder().Record().Key("key").String(m.Key).Key("sourceId").String(m.SourceID)
	b.Key("nativeSessionId").String(m.NativeSessionID).Key("summary").Value(m.Summary)
	b.Key("normalizedMessages").Array().End().Key("complete").Bool(m.Complete)
	if b.Key("revision"); m.Revision == nil {
		b.Undefined()
	} else {
		b.String(*m.Revision)
	}
	b.Key("chunks").Array()
	for i := range m.Chunks {
		d := &m.Chunks[i]
		b.Record().Key("part").Int(int64(d.Part)).Key("byteLength").Int(d.ByteLength).
			Key("eventCount").Int(int64(d.EventCount)).Key("contentHash").String(d.ContentHash.String()).End()
	}
	return b.End().End().Finish()
}

// logicalManifest is the record that the manifest hash covers: unpaged, its chunks
// as links, and the messages given or, without, left out for the hash to fill in. m.Chunks
// holds all chunks.
func logicalManifest(causes hashgraph.Causes, m *document.Manifest, messages ...value.Value) value.Value {
	b := value.NewBuilder().Record().Key("schema").String(document.SchemaManifest)
	b.Key("ownerDid").String(m.OwnerDID).Key("key").String(m.Key).Key("sourceId").String(m.SourceID)
	b.Key("driver").String(m.Driver).Key("nativeSessionId").String(m.NativeSessionID)
	b.Key("metadata").Value(m.Summary.Path("raw")).Key("summary").Value(m.Summary)
	b.Key("normalized").Record().Key("messages").Array()
	for _, v := range messages {
		b.Value(v)
	}
	b.End().End().Key("chunks").Array()
	for i := range m.Chunks {
		d := &m.Chunks[i]
		hash := d.ContentHash.String()
		id := hashgraph.CellID(causes.Chunk(m.SourceID, m.NativeSessionID, d.Part, d.ContentHash))
		b.Record().Key("part").Int(int64(d.Part)).Key("link")
		hashgraph.BuildLink(b, id, causes.SpaceDID)
		b.Key("contentHash").String(hash).Key("byteLength").Int(d.ByteLength).
			Key("eventCount").Int(int64(d.EventCount)).End()
	}
	b.End().Key("snapshotHash").String(m.SnapshotHash.String())
	if b.Key("revision"); m.Revision == nil {
		b.Null()
	} else {
		b.String(*m.Revision)
	}
	b.Key("observedAt").String(m.ObservedAt).Key("complete").Bool(m.Complete)
	return b.End().Finish()
}

// keepGit is the row's Git context when a new observation failed, or found the
// same root but could not resolve it: the prior row's.
func keepGit(prior, now document.Git, failed bool) document.Git {
	sameRoot := prior.WorktreeRoot != nil && now.WorktreeRoot != nil && *prior.WorktreeRoot == *now.WorktreeRoot
	if failed || sameRoot && now.ObservedAt == nil {
		return prior
	}
	return now
}

// equalGit compares all but the time of observation.
func equalGit(a, b document.Git) bool {
	return equalText(a.Repo, b.Repo) && equalText(a.Branch, b.Branch) && equalText(a.HeadSHA, b.HeadSHA) &&
		equalText(a.WorktreeRoot, b.WorktreeRoot) && slices.EqualFunc(a.Remotes, b.Remotes, equalRemote)
}

func equalRemote(a, b document.Remote) bool { return a.Name == b.Name && slices.Equal(a.URLs, b.URLs) }

func equalText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
