package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"agentsync/collect"
	"agentsync/collect/lines"
)

// Kind is the driver kind of a source that this package reads.
const Kind = "codex-app-server"

// Driver reads the threads of one or more Codex homes, and operates on those of the agent's
// own. Its methods may be called by several goroutines.
type Driver struct {
	source collect.Descriptor
	homes  []home
	env    collect.Env
	cwd    string // where sessions start, "" when not configured
	live   *live

	mu        sync.Mutex
	catalog   *catalog // of the last listing, nil before the first
	published collect.Ids
}

var _ collect.Driver = (*Driver)(nil)

// New configures a driver. It fails when the source's id is no identity, when no home
// is known, and when symlinks or the transport is none of its choices; it looks at no
// file and starts nothing.
func New(cfg collect.SourceConfig, env collect.Env) (*Driver, error) {
	id, err := collect.SourceID(cfg.ID)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	if cfg.Symlinks != "" && cfg.Symlinks != "skip" && cfg.Symlinks != "follow" {
		return nil, fmt.Errorf("configure source %s: symlinks is %q, not follow or skip", id, cfg.Symlinks)
	}
	list, err := homes(cfg, env)
	if err != nil {
		return nil, fmt.Errorf("configure source %s: %w", id, err)
	}
	how, err := newLaunch(cfg, env, list[0].dir)
	if err != nil {
		return nil, fmt.Errorf("configure source %s: %w", id, err)
	}
	return &Driver{homes: list, env: env, cwd: cfg.Cwd, live: newLive(how, cfg.AllowDangerFullAccess),
		source: collect.Descriptor{ID: id, Driver: Kind, Capabilities: collect.Capabilities{Inventory: true, Read: true,
			Prompt: true, Cancel: true, Rename: true, StartSession: true}}}, nil
}

// Folders returns the homes that are read, in the order of their precedence.
func (d *Driver) Folders() []string {
	dirs := make([]string, len(d.homes))
	for i, h := range d.homes {
		dirs[i] = h.dir
	}
	return dirs
}

// Source describes the source.
func (d *Driver) Source() collect.Descriptor { return d.source }

// Start has nothing to start: reading needs no agent, and the first operation starts it.
func (d *Driver) Start(ctx context.Context) error { return ctx.Err() }

// Stop interrupts the turns that still run and ends the app server, if there is one. What
// the driver started has ended when it returns, but for a daemon that others use.
func (d *Driver) Stop() error {
	d.live.stop()
	return nil
}

// ListSessions returns all threads as one page, the newest file name first. It lists
// folders and reads the index of names; it opens no rollout. A home that is not there
// makes the page absent, and one that cannot be listed makes a problem.
func (d *Driver) ListSessions(ctx context.Context, cursor string) (collect.Page, error) {
	if cursor != "" {
		return collect.Page{}, fmt.Errorf("list sessions of %s: not a cursor: %.80q", d.source.ID, cursor)
	}
	c := d.look()
	page := collect.Page{Problems: c.problems, Notes: c.notes, Absent: c.absent,
		Sessions: make([]collect.Listing, len(c.files))}
	for i, f := range c.files {
		page.Sessions[i] = collect.Listing{NativeSessionID: f.id, Parent: f.parent, Stamp: f.stamp, Placement: d.place(f)}
	}
	return page, ctx.Err()
}

// look lists the source anew and keeps what it found for the reads to come.
func (d *Driver) look() *catalog {
	seen := scan(d.homes)
	titles := make([]names, len(d.homes))
	for i, h := range d.homes {
		list, err := readNames(h, lines.Options{Now: d.env.Now})
		if err != nil {
			seen.problems = append(seen.problems, collect.Problem{Code: collect.CodeUnreadable,
				Path: filepath.Join(h.dir, indexFile), Message: "read the threads' names: " + reason(err).Error()})
		}
		titles[i] = list
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newCatalog(d.homes, seen, titles, d.published)
	d.catalog = c
	return c
}

// Know tells which ids rollouts were published under.
func (d *Driver) Know(published []collect.Known) {
	read := map[string]bool{}
	for _, h := range d.homes {
		read[h.placement()] = true
	}
	ids := collect.NewIds(published, func(root string) bool { return read[root] }, func(id string) bool {
		_, ok := ThreadOf(id)
		return ok
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.published = ids
}

// known is the catalog of the last listing, or of the first one made now.
func (d *Driver) known() *catalog {
	d.mu.Lock()
	c := d.catalog
	d.mu.Unlock()
	if c == nil {
		return d.look()
	}
	return c
}

// open finds a session and opens its file. A file that is not where it was listed is
// looked for once more: archiving a thread moves it, compressing renames it.
func (d *Driver) open(id string, from *collect.Resume) (*catalog, file, *lines.Reader, error) {
	c := d.known()
	for again := false; ; again = true {
		f, found := c.find(id)
		if !found && again {
			return nil, file{}, nil, fmt.Errorf("find session %s: %w", id, fs.ErrNotExist)
		}
		if found {
			f, r, err := d.openFile(f, from)
			if err == nil || again || !errors.Is(err, fs.ErrNotExist) {
				return c, f, r, err
			}
		}
		c = d.look()
	}
}

// openFile opens a session's file. One that is named like a compressed file and is none,
// or not whole, is read as the bytes it has.
func (d *Driver) openFile(f file, from *collect.Resume) (file, *lines.Reader, error) {
	path, follow := f.path(d.homes), d.homes[f.home].follow
	if f.zstd {
		whole, err := lines.WholeZstd(path, follow)
		if err != nil {
			return f, nil, err
		}
		if !whole {
			f.rel, f.zstd, f.broken = f.rel+zstdSuffix, false, true
		}
	}
	r, err := lines.Open(path, lines.Options{Now: d.env.Now, Resume: from, Zstd: f.zstd, Follow: follow})
	return f, r, err
}

// ReadSession opens a thread's rollout. A resume that another version of this driver
// wrote, or that does not fit the file any more, is not used.
func (d *Driver) ReadSession(ctx context.Context, nativeSessionID string, from *collect.Resume) (collect.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	resume, at := plainResume(from)
	c, f, r, err := d.open(nativeSessionID, resume)
	if err != nil {
		return nil, err
	}
	s := &snapshot{driver: d, catalog: c, file: f, reader: r, track: newTrack()}
	if !r.Resumed() {
		return s, nil
	}
	s.track = at
	if s.head, err = d.readHead(f); err != nil {
		r.Close()
		return nil, err
	}
	return s, nil
}

// plainResume takes the track out of a resume, whose rest is the line reader's.
func plainResume(from *collect.Resume) (*collect.Resume, track) {
	if from == nil {
		return nil, track{}
	}
	at, ok := parseTrack(from.At.State)
	if !ok {
		return &collect.Resume{Taken: from.Taken}, track{}
	}
	plain := *from
	plain.At.State = ""
	return &plain, at
}

// Summarize reads the beginning and the end of a thread's rollout.
func (d *Driver) Summarize(ctx context.Context, nativeSessionID string) (collect.Summary, error) {
	if err := ctx.Err(); err != nil {
		return collect.Summary{}, err
	}
	c, f, r, err := d.open(nativeSessionID, nil)
	if err != nil {
		return collect.Summary{}, err
	}
	defer r.Close()
	h, err := d.readHead(f)
	if err != nil {
		return collect.Summary{}, err
	}
	end, err := lastRecord(r, f.zstd)
	if err != nil {
		return collect.Summary{}, err
	}
	return d.summary(c, f, h, end.updatedAt(r.Stamp().ModTime)), nil
}
