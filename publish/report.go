package publish

import (
	"context"
	"io"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// Session statuses in a report.
const (
	SessionPublished = "published"
	SessionUnchanged = "unchanged"
	SessionFailed    = "failed"
)

// SessionReport says what became of one session that was read.
type SessionReport struct {
	Key          string
	Source       string
	NativeID     string
	Status       string
	SnapshotHash string
	ManifestHash string
	Parts        int
	Events       int
	Messages     int
	Damaged      int
	Bytes        int64 // read
	Size         int64 // of the session's own records
	Waiting      int64 // bytes of an unfinished last line that was left to its writer
	Partial      bool
	Resumed      bool   // read from its last part on
	Copy         int    // number of the kept copy of what the session was before, 0 for none
	Why          string // of that: shortened or diverged
	Mended       bool   // its published copy was damaged, and has been written anew
	Problems     []collect.Problem
}

// Report says what a pass did. Found is Published + Unchanged + Failed.
type Report struct {
	Found, Published, Unchanged, Failed int
	Retained                            int // of Unchanged, those that were not opened
	Deleted, Partial                    int
	Mended                              int  // sessions whose published copy was damaged, and has been written anew
	Unseen                              int  // published, not deleted, and not seen
	Copies                              int  // sessions whose earlier state was kept as a copy
	Waiting                             int  // sessions with an unfinished last line that was left to its writer
	Talk                                bool // a session that was seen has a message; asked for by the pass
	Documents                           int
	BytesWritten                        int64
	BytesRead                           int64
	Generation                          int64
	Store                               string
	Unfinished                          bool // the generation was left on the way, by a pass that did not come to its end
	Sources                             []SourceReport
	Sessions                            []SessionReport
	Notes                               []collect.Problem // what concerns no source
}

// SourceReport is one source's part of a pass.
type SourceReport struct {
	Source   collect.Descriptor
	Absent   bool
	Complete bool
	Found    int
	Unseen   int // published, not deleted, and not seen
	Problems []collect.Problem
	Notes    []collect.Problem
}

// Incomplete reports that something was not published that is there.
func (r *Report) Incomplete() bool {
	for _, s := range r.Sources {
		if len(s.Problems) > 0 {
			return true
		}
	}
	return r.Failed > 0 || r.Waiting > 0
}

// publishedErrors is how many problems a source row holds; the rest are counted.
const publishedErrors = 50

// sources are the source rows of this pass.
func (w *work) sources() []document.Source {
	var out []document.Source
	for i := range w.tallies {
		t := &w.tallies[i]
		row := document.Source{ID: t.source.ID, Driver: t.source.Driver, Installation: w.Installation,
			Capabilities: w.capabilities(t.source), Options: w.options(t.source), Complete: t.whole(), Dangling: dangling(t.outcome.Notes)}
		for _, p := range w.problems(t) {
			if len(row.Errors) < publishedErrors {
				row.Errors = append(row.Errors, document.Problem{Code: p.Code, Message: p.Message, Session: p.Session, Path: p.Path})
			}
		}
		old := w.sourceBefore(t.source.ID)
		if row.Observed = w.number; old != nil && (t.partial || !row.Complete) {
			row.Observed = old.Observed
		}
		if old != nil && t.unlisted {
			row.Capabilities, row.Options = old.Capabilities, old.Options
		}
		if old != nil && t.partial {
			row.Complete, row.Errors, row.Dangling = old.Complete, old.Errors, old.Dangling
		}
		if old != nil && old.Observed > w.number { // a newer pass published first
			row = *old
		}
		row.SessionCount = w.claims.alive(t.source.ID)
		out = append(out, row)
	}
	return out
}

func (w *work) sourceBefore(id string) *document.Source {
	if w.base == nil {
		return nil
	}
	i := slices.IndexFunc(w.base.root.Sources, func(s document.Source) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return &w.base.root.Sources[i]
}

// problems are the inventory's, those of what was published before and not seen, and those
// of sessions of which a part is missing.
func (w *work) problems(t *tally) []collect.Problem {
	out := slices.Concat(t.outcome.Problems, t.verdict.problems)
	for i := range w.results {
		s := &w.results[i].session
		if s.Source != t.source.ID || !s.Partial {
			continue
		}
		if len(s.Problems) == 0 {
			out = append(out, collect.Problem{Code: CodePartial, Session: s.NativeID, Message: "not all of its history could be read"})
		}
		out = append(out, s.Problems...)
	}
	return out
}

// notes are what was left out, and behind which nothing is missing.
func (t *tally) notes() []collect.Problem {
	if t.partial {
		return t.outcome.Notes
	}
	return t.verdict.leftOut
}

// capabilities are what a source can do. Where nobody asked for its modes, as in a pass that
// read no session, those that were published stay.
func (w *work) capabilities(d collect.Descriptor) []string {
	out := capabilities(d.Capabilities)
	if old := w.sourceBefore(d.ID); old != nil && d.Capabilities.ModesUnknown {
		for _, one := range old.Capabilities {
			if strings.HasPrefix(one, modeCapability) {
				out = append(out, one)
			}
		}
	}
	return out
}

// maxOptions is the longest text of a source's option descriptions that its row takes.
const maxOptions = 64 << 10 // bytes

// options are the descriptions of what a source's sessions can be set to, by option id.
// They stay as modes do. Too many are none: then nobody checks a command against them.
func (w *work) options(d collect.Descriptor) value.Value {
	options := d.Capabilities.Options
	if old := w.sourceBefore(d.ID); old != nil && d.Capabilities.ModesUnknown {
		options = old.Options
	}
	if options.Kind() != value.Record || len(value.AppendText(nil, options)) > maxOptions {
		return value.Value{}
	}
	return options
}

// modeCapability begins what the row of a source has for a mode.
const modeCapability = "mode:"

func capabilities(c collect.Capabilities) []string {
	var out []string
	for _, one := range []struct {
		name string
		has  bool
	}{{"cancel", c.Cancel}, {"inventory", c.Inventory}, {"prompt", c.Prompt}, {"read", c.Read},
		{"rename", c.Rename}, {"set-config-option", c.SetOption}, {"set-mode", c.SetMode}, {"start-session", c.StartSession}} {
		if one.has {
			out = append(out, one.name)
		}
	}
	for _, m := range c.Modes {
		out = append(out, modeCapability+m)
	}
	return out
}

// checkouts are the worktrees that this pass saw.
func (w *work) checkouts(dirs map[string]observation) []document.Checkout {
	var out []document.Checkout
	seen := map[string]bool{}
	add := func(g document.Git, discovered bool) {
		if g.WorktreeRoot == nil || seen[*g.WorktreeRoot] {
			return
		}
		seen[*g.WorktreeRoot] = true
		out = append(out, document.Checkout{Root: *g.WorktreeRoot, Repo: g.Repo, Branch: g.Branch,
			HeadSHA: g.HeadSHA, Remotes: g.Remotes, ObservedAt: g.ObservedAt, Discovered: discovered})
	}
	for _, dir := range sortedKeys(dirs) {
		add(dirs[dir].git, false)
	}
	for _, root := range w.Checkouts {
		if w.Git != nil {
			git, _ := w.Git(root)
			add(git, true)
		}
	}
	return out
}

// count fills in the report from what was collected.
func (w *work) count() {
	r := &w.report
	for i := range w.tallies {
		t := &w.tallies[i]
		r.Retained += len(t.retained)
		found := len(t.retained)
		for i := range w.results {
			if w.results[i].session.Source == t.source.ID {
				found++
			}
		}
		r.Sources = append(r.Sources, SourceReport{Source: t.source, Absent: t.outcome.Absent, Found: found, Unseen: t.unseen,
			Complete: t.whole(), Problems: w.problems(t), Notes: t.notes()})
		r.Unseen += t.unseen
	}
	r.Unchanged = r.Retained
	for i := range w.results {
		s := w.results[i].session
		switch s.Status {
		case SessionPublished:
			r.Published++
		case SessionUnchanged:
			r.Unchanged++
		default:
			r.Failed++
		}
		if s.Partial {
			r.Partial++
		}
		if s.Copy > 0 {
			r.Copies++
		}
		if s.Mended {
			r.Mended++
		}
		if s.Waiting > 0 {
			r.Waiting++
		}
		r.Sessions = append(r.Sessions, s)
	}
	slices.SortFunc(r.Sessions, func(a, b SessionReport) int { return compare(a.Key, b.Key) })
	r.Found = r.Published + r.Unchanged + r.Failed
	r.Documents, r.BytesWritten = w.packer.documents, w.packer.bytes
}

func countStatus(changed []rowChange, status string) (n int) {
	for _, c := range changed {
		if c.row.Status == status {
			n++
		}
	}
	return n
}

// discarding is a store into which nothing is written: what is staged is counted
// and forgotten.
type discarding struct{ store.Store }

// Stage returns room for content that is thrown away.
func (discarding) Stage(context.Context) (store.Staged, error) { return &discarded{}, nil }

type discarded struct{}

func (*discarded) Write(p []byte) (int, error)          { return len(p), nil }
func (*discarded) ReadAt([]byte, int64) (int, error)    { return 0, io.EOF }
func (*discarded) Commit(context.Context, string) error { return nil }
func (*discarded) Discard() error                       { return nil }

func (s *SessionReport) fill(row *document.Row, got hashgraph.Prepared, before *document.Row) {
	s.Status = SessionPublished
	if before != nil && before.ManifestHash == row.ManifestHash && before.Status == row.Status {
		s.Status = SessionUnchanged
	}
	s.SnapshotHash, s.ManifestHash = row.ContentHash.String(), row.ManifestHash.String()
	s.Parts, s.Events, s.Messages, s.Damaged = got.Parts, got.Events, got.Messages, row.Damaged
	s.Bytes, s.Size, s.Waiting, s.Partial = got.Bytes, row.Size, got.Trailer.Waiting, row.Status == document.StatusPartial
	s.Problems = got.Trailer.Problems
}
