// Package claude reads the sessions of Claude's own transcript files, without the
// client: its inventory, its histories, its summaries and its view of a conversation.
//
// It owns the layout below a configuration folder's projects and the rules by which the
// client derives what it reports. Every file there is part of some session. Reading
// starts no process, changes no file, and follows no link it was not told to.
//
// Operations are apart from that. A prompt or a start runs the client's program for one
// turn, which speaks lines of JSON (spec, agents 3.5), and a rename appends the line that
// the client would. What happened is believed only when the program or the transcript
// says so.
package claude

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"agentsync/collect"
	"agentsync/collect/lines"
)

// Kind is the driver's name in a configuration.
const Kind = "claude-agent-sdk"

// pageSize is how many sessions an inventory page has. The client's own pages of 100
// would be a page a millisecond; a listing is small.
const pageSize = 5000

// Driver reads one source. Its methods may be called by several goroutines.
type Driver struct {
	descriptor collect.Descriptor
	env        collect.Env
	roots      []root
	cwd        string // the only project to be listed, "" for all
	resolve    func(path string) (string, error)
	pageSize   int
	config     collect.SourceConfig
	patience   patience
	turns      turns
	pairing    sync.Mutex // of the pending starts

	mutex      sync.Mutex
	known      *catalog             // of the last listing
	published  collect.Ids          // of transcripts
	remembered map[[2]string]string // by session and key, when env has no memory
}

var (
	_ collect.Driver = (*Driver)(nil)
	_ collect.Knower = (*Driver)(nil)
)

// New prepares a source. It fails when the configuration names no folder and there is
// no home folder to find one in. It reads nothing.
func New(cfg collect.SourceConfig, env collect.Env) (*Driver, error) {
	id, err := collect.SourceID(cfg.ID)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	roots, err := resolveRoots(cfg, env)
	if err != nil {
		return nil, err
	}
	return &Driver{
		descriptor: collect.Descriptor{
			ID:           id,
			Driver:       Kind,
			Capabilities: capabilities(cfg),
		},
		env:     env,
		roots:   roots,
		cwd:     cfg.Cwd,
		resolve: filepath.EvalSymlinks,

		pageSize: pageSize,
		config:   cfg,
		patience: ordinaryPatience,
	}, nil
}

// Source describes the source.
func (d *Driver) Source() collect.Descriptor { return d.descriptor }

// Start connects to nobody: a prompt starts its own program.
func (d *Driver) Start(context.Context) error {
	d.turns.open()
	return nil
}

// Stop interrupts the prompts that run, waits for their programs to end, and forgets the
// last listing.
func (d *Driver) Stop() error {
	d.turns.close()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.known = nil
	return nil
}

// ListSessions returns a page of the inventory; cursors are decimal offsets. The first
// page lists the folders and opens no transcript; the others hand out the rest of it.
func (d *Driver) ListSessions(ctx context.Context, cursor string) (collect.Page, error) {
	if err := ctx.Err(); err != nil {
		return collect.Page{}, err
	}
	if cursor == "" {
		known := d.list()
		page := d.page(known, 0)
		if err := d.pairStarts(ctx, known); err != nil {
			page.Notes = append(page.Notes, collect.Problem{Code: "start-not-paired", Message: err.Error()})
		}
		return page, nil
	}
	offset, err := strconv.Atoi(cursor)
	d.mutex.Lock()
	known := d.known
	d.mutex.Unlock()
	if err != nil || known == nil || offset <= 0 || offset > len(known.sessions) {
		return collect.Page{}, fmt.Errorf("list claude sessions: no page at cursor %q", cursor)
	}
	return d.page(known, offset), nil
}

// list looks at the folders anew.
func (d *Driver) list() *catalog {
	result, seen := scan(d.roots, d.wanted())
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.known = newCatalog(d.roots, result, seen, d.published)
	return d.known
}

// Know tells which ids transcripts were published under.
func (d *Driver) Know(published []collect.Known) {
	read := map[string]bool{}
	for _, r := range d.roots {
		read[r.placement()] = true
	}
	ids := collect.NewIds(published, func(root string) bool { return read[root] }, ofTranscript)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.published = ids
}

// ofTranscript reports the id of a session's own transcript: a UUID, alone or behind the
// name of a folder.
func ofTranscript(id string) bool { return isUUID(id[strings.LastIndexByte(id, '/')+1:]) }

func (d *Driver) page(c *catalog, offset int) collect.Page {
	end := min(offset+d.pageSize, len(c.sessions))
	page := collect.Page{Sessions: make([]collect.Listing, 0, end-offset)}
	for _, s := range c.sessions[offset:end] {
		page.Sessions = append(page.Sessions, collect.Listing{NativeSessionID: s.id, Parent: s.parent, Stamp: s.stamp,
			Placement: d.place(s), Summary: d.atWork(s.id)})
	}
	if end < len(c.sessions) {
		page.NextCursor = strconv.Itoa(end)
	}
	if offset == 0 {
		page.Absent = !c.anyPresent()
		page.Problems = append(c.missing(d.roots), c.problems...)
		page.Notes, page.Aside = c.notes, c.aside
	}
	return page
}

// atWork is all that a listing tells of a session for free: that a prompt of this driver
// is running in it. Of any other nobody knows.
func (d *Driver) atWork(id string) *collect.Summary {
	if !d.turns.active(id) {
		return nil
	}
	return &collect.Summary{NativeSessionID: id, Active: new(true)}
}

// anyPresent reports that at least one root was there to be read, if not readable.
func (c *catalog) anyPresent() bool {
	for _, state := range c.seen {
		if state == present || state == unreadable {
			return true
		}
	}
	return false
}

// missing lists the roots that are not there although the configuration names them, and
// those without projects beside others that have them: what they hold would otherwise
// seem to be deleted.
func (c *catalog) missing(roots []root) []collect.Problem {
	var list []collect.Problem
	for i, state := range c.seen {
		switch {
		case state == absent && roots[i].named:
			list = append(list, collect.Problem{Code: collect.CodeFolderMissing, Path: roots[i].dir,
				Message: "a folder of this source is not there"})
		case state == bare && c.anyPresent():
			list = append(list, collect.Problem{Code: collect.CodeFolderMissing, Path: roots[i].projects(),
				Message: "this folder is not there, those of other roots are"})
		}
	}
	return list
}

// session finds a session by its id, in the last listing or else in a new one.
func (d *Driver) session(id string) (session, error) {
	d.mutex.Lock()
	known := d.known
	d.mutex.Unlock()
	if known != nil {
		if s, ok := known.find(id); ok {
			return s, nil
		}
	}
	if s, ok := d.list().find(id); ok {
		return s, nil
	}
	return session{}, fmt.Errorf("find claude session %s: %w", id, fs.ErrNotExist)
}

// ReadSession opens a session's history. An unknown session is fs.ErrNotExist.
func (d *Driver) ReadSession(ctx context.Context, nativeSessionID string, from *collect.Resume) (collect.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := d.session(nativeSessionID)
	if err != nil {
		return nil, err
	}
	if s.kind == sideFiles {
		return d.openFiles(s)
	}
	return d.openTranscript(s, from)
}

// Summarize reads a session's summary from the two ends of its transcript and its side
// files. An unknown session is fs.ErrNotExist.
func (d *Driver) Summarize(ctx context.Context, nativeSessionID string) (collect.Summary, error) {
	if err := ctx.Err(); err != nil {
		return collect.Summary{}, err
	}
	s, err := d.session(nativeSessionID)
	if err != nil {
		return collect.Summary{}, err
	}
	active := d.atWork(nativeSessionID)
	if s.kind == sideFiles {
		files, stamp, _, err := d.sideFiles(s)
		return d.summarizeFiles(s, len(files), stamp), err
	}
	r, err := lines.Open(d.file(s), lines.Options{Now: d.env.Now})
	if err != nil {
		return collect.Summary{}, sessionError(s, "summarize", err)
	}
	defer r.Close()
	out, err := d.summarize(s, r, r.Stamp().Size)
	if err != nil {
		return out, sessionError(s, "summarize", err)
	}
	collect.FillLifecycle(&out, active)
	return out, nil
}
