package gitinfo

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// Context is the published Git context of one folder. Nil means unknown, or that
// there is none: all is nil for a folder that is missing or in no worktree.
type Context struct {
	Root    *string // the worktree's top folder, links resolved, with slashes
	RepoURL *string // the repository's address, see PublishURL
	Branch  *string // nil on a detached HEAD
	HeadSHA *string // nil on a branch without commits
	// Remotes are sorted by name; nil when they were not observed, empty when there
	// are none to publish.
	Remotes []Remote
	// ObservedAt is the observation's time, YYYY-MM-DDTHH:MM:SS.mmmZ; nil unless all
	// of the above was observed.
	ObservedAt *string
	// Failed says that there is a repository, or may be one, but not everything about
	// it could be learned. What is known of it from before should be kept.
	Failed  bool
	Problem string // why Failed, for people; holds no address
}

// Remote is one named remote with its published addresses, sorted and distinct.
type Remote struct {
	Name string
	URLs []string
}

// Options are what a Resolver may know of the process it runs in.
type Options struct {
	Home   string              // for the user's Git configuration; "" when there is none
	Getenv func(string) string // nil stands for an empty environment
	Git    string              // the git program; "" looks it up along Getenv's PATH
	// Timeout limits each run of the git program; 0 is ten seconds.
	Timeout time.Duration
}

const defaultTimeout = 10 * time.Second // for commands that take milliseconds, on a slow network drive

// Resolver learns Git contexts. It is safe for concurrent use and keeps nothing
// from one observation to the next.
type Resolver struct {
	options Options
	git     func() (string, error) // looked up once
	spawned atomic.Int64           // runs of the git program
}

// NewResolver returns a resolver. It does nothing yet: no file is read, no program
// looked for.
func NewResolver(options Options) *Resolver {
	if options.Getenv == nil {
		options.Getenv = func(string) string { return "" }
	}
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	r := &Resolver{options: options}
	r.git = sync.OnceValues(func() (string, error) { return lookUp(options.Git, options.Getenv) })
	return r
}

// Observation is one pass's view of all repositories: each folder and each
// repository is looked at once, failures included. Safe for concurrent use.
type Observation struct {
	resolver *Resolver
	at       string
	user     func() ([]*config.Config, error)
	folders  once[string, located]
	contexts once[place, Context]
}

type located struct {
	place
	err error
}

// NewObservation opens the scope of one publication, made at now. What changed since
// an earlier observation is seen by this one.
func (r *Resolver) NewObservation(now time.Time) *Observation {
	return &Observation{
		resolver: r,
		at:       now.UTC().Format("2006-01-02T15:04:05.000Z"),
		user: sync.OnceValues(func() ([]*config.Config, error) {
			return userConfig(r.options.Home, r.options.Getenv)
		}),
	}
}

// Resolve returns the context of an absolute folder. It never fails as a whole: a
// missing folder, a relative path and a folder outside any worktree give an empty
// context, and anything that could not be learned makes it Failed. A cancelled ctx
// makes those that need the git program fail.
func (o *Observation) Resolve(ctx context.Context, folder string) Context {
	if !filepath.IsAbs(folder) {
		return Context{}
	}
	folder = filepath.Clean(folder)
	at := o.folders.get(folder, func() located {
		at, err := locate(folder)
		return located{at, err}
	})
	if at.err != nil {
		return Context{Failed: true, Problem: at.err.Error()}
	}
	if at.kind == nothing {
		return Context{}
	}
	return o.contexts.get(at.place, func() Context { return o.observe(ctx, at.place) }).clone()
}

// observe answers for one repository, in this process where that is enough.
func (o *Observation) observe(ctx context.Context, at place) Context {
	user, err := o.user()
	if err == nil {
		var answer details
		if answer, err = readPlain(at, user); err == nil {
			return o.complete(answer)
		}
	}
	if !errors.Is(err, errAskGit) {
		return Context{Failed: true, Problem: err.Error()}
	}
	answer, outcome := o.resolver.askGit(ctx, at.root)
	switch {
	case outcome.noWorktree:
		return Context{}
	case outcome.err == nil:
		return o.complete(answer)
	}
	return incomplete(answer, outcome)
}

// complete renders a whole set of answers.
func (o *Observation) complete(d details) Context {
	remotes := publishedRemotes(d.rows)
	at := o.at
	return Context{
		Root: filled(d.root), Branch: filled(d.branch), HeadSHA: filled(d.head),
		RepoURL: publishedURL(d.preferred, remotes), Remotes: remotes, ObservedAt: &at,
	}
}

// incomplete renders what was learned before something failed.
func incomplete(d details, outcome outcome) Context {
	c := Context{
		Root: filled(d.root), Branch: filled(d.branch), HeadSHA: filled(d.head),
		Failed: true, Problem: outcome.err.Error(),
	}
	if outcome.remotes {
		c.Remotes = publishedRemotes(d.rows)
	}
	c.RepoURL = publishedURL(d.preferred, c.Remotes)
	return c
}

// clone detaches a context from the one that is kept.
func (c Context) clone() Context {
	for _, p := range []**string{&c.Root, &c.RepoURL, &c.Branch, &c.HeadSHA, &c.ObservedAt} {
		if *p != nil {
			value := **p
			*p = &value
		}
	}
	if c.Remotes != nil {
		remotes := make([]Remote, len(c.Remotes))
		for i, r := range c.Remotes {
			remotes[i] = Remote{r.Name, append([]string(nil), r.URLs...)}
		}
		c.Remotes = remotes
	}
	return c
}

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// once computes one value per key, even for many askers at a time.
type once[K comparable, V any] struct {
	lock  sync.Mutex
	cells map[K]func() V
}

func (o *once[K, V]) get(key K, compute func() V) V {
	o.lock.Lock()
	cell, ok := o.cells[key]
	if !ok {
		if o.cells == nil {
			o.cells = map[K]func() V{}
		}
		cell = sync.OnceValue(compute)
		o.cells[key] = cell
	}
	o.lock.Unlock()
	return cell()
}
