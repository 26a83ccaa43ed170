package cli

import (
	"context"
	"errors"
	"fmt"

	"agentsync/collect"
	"agentsync/ledger/worker"
	"agentsync/publish"
)

// narrowed is a running driver of which a pass sees only some sessions and their
// children. The pass neither starts nor stops it.
type narrowed struct {
	collect.Driver
	wanted map[string]bool // native ids; children that were seen join them
	seen   map[string]bool // of wanted, those that were listed
}

// Start does nothing: the driver runs.
func (narrowed) Start(context.Context) error { return nil }

// Stop does nothing: the driver goes on.
func (narrowed) Stop() error { return nil }

// Know hands on what was published, to a driver that asks.
func (n narrowed) Know(published []collect.Known) {
	if k, ok := n.Driver.(collect.Knower); ok {
		k.Know(published)
	}
}

// ListSessions leaves out of a page what was not asked for.
func (n narrowed) ListSessions(ctx context.Context, cursor string) (collect.Page, error) {
	page, err := n.Driver.ListSessions(ctx, cursor)
	if err != nil {
		return page, err
	}
	kept := page.Sessions[:0:0]
	for grew := true; grew; { // a child may be listed before its parent
		grew = false
		for _, l := range page.Sessions {
			id := l.NativeSessionID
			if !n.seen[id] && (n.wanted[id] || n.wanted[l.Parent]) {
				n.wanted[id], n.seen[id], grew = true, true, true
				kept = append(kept, l)
			}
		}
	}
	page.Sessions = kept
	return page, nil
}

// refresher publishes the sessions that commands touched.
type refresher struct {
	v         *invocation
	target    *publish.Target
	operators map[string]*operator
	missing   func(key string) // told of a session that its source does not list
}

// publish publishes sessions anew from drivers that run. Nothing else of their sources
// is looked at, and nothing is marked deleted.
func (r *refresher) publish(ctx context.Context, sessions []worker.Session) error {
	pass := publish.Pass{Now: r.v.env.Now(), Only: func(string, collect.Listing) bool { return true }}
	pass.Git = r.v.gitSight(ctx, pass.Now)
	narrow := make(map[string]narrowed)
	for _, s := range sessions {
		o := r.operators[s.SourceID]
		if o == nil {
			return fmt.Errorf("source %s is not open", s.SourceID)
		}
		n, known := narrow[s.SourceID]
		if !known {
			if err := o.start(ctx); err != nil {
				return err
			}
			n = narrowed{o.driver, map[string]bool{}, map[string]bool{}}
			narrow[s.SourceID] = n
			pass.Sources = append(pass.Sources, n)
		}
		n.wanted[s.NativeSessionID] = true
	}
	report, err := r.target.Publish(ctx, pass)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if key, err := collect.SessionKey(s.SourceID, s.NativeSessionID); err == nil && !narrow[s.SourceID].seen[s.NativeSessionID] {
			r.missing(key)
		}
	}
	var problems []error
	for _, source := range report.Sources {
		for _, p := range source.Problems {
			problems = append(problems, problemFailure(source.Source.ID, p))
		}
	}
	for _, s := range report.Sessions {
		if s.Waiting > 0 {
			problems = append(problems, waitingFailure(s))
		}
	}
	return errors.Join(problems...)
}
