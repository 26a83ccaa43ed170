package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/ledger/durable"
	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) statusVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "status",
		Category:  groupKeep,
		Usage:     "show store, sources, locks and warnings on one screen",
		UsageText: "agentsync status\nagentsync status --json",
		Action:    action(0, 0, v.status),
	}
}

// storeObject is the newest generation in JSON, and what its sessions are.
type storeObject struct {
	Type       string `json:"message_type"`
	Store      string `json:"store"`
	Generation int64  `json:"generation"` // 0 when nothing was published yet
	Time       string `json:"time,omitempty"`
	AgeSeconds int64  `json:"age_seconds"`
	Sessions   int    `json:"sessions"` // not deleted
	Deleted    int    `json:"deleted"`
	Stale      int    `json:"stale"`
	Partial    int    `json:"partial"`
	Damaged    int    `json:"damaged"` // sessions with events that are not one sound line
	Copies     int    `json:"copies"`  // kept, of sessions that shrank or diverged
	Packs      int    `json:"packs"`
	Size       int64  `json:"size"`
	Owner      string `json:"owner_did"`
	Config     string `json:"config,omitempty"`
	State      string `json:"state,omitempty"`
}

// publishedSource is a source as the newest generation knows it.
type publishedSource struct {
	Type         string          `json:"message_type"`
	Source       string          `json:"source"`
	Driver       string          `json:"driver"`
	Installation string          `json:"installation"`
	Complete     bool            `json:"complete"`
	Sessions     int             `json:"sessions"`
	Errors       int             `json:"errors"`
	Capabilities []string        `json:"capabilities"`
	Options      json.RawMessage `json:"options,omitempty"`

	told int // of the errors, those that have a warning of their own
}

// sourceProblem is what the newest pass could not list or read of a source.
type sourceProblem struct {
	Type    string `json:"message_type"`
	Source  string `json:"source"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Session string `json:"session,omitempty"`
	Path    string `json:"path,omitempty"`
}

// lockObject is a pass that is running.
type lockObject struct {
	Type   string `json:"message_type"`
	Path   string `json:"path"`
	Holder string `json:"holder"`
}

// statusSummary ends the screen.
type statusSummary struct {
	Type     string `json:"message_type"`
	Warnings int    `json:"warnings"`
}

// screen is everything that status shows.
type screen struct {
	store    storeObject
	standing standingObject
	sources  []publishedSource
	machines []machineObject
	problems []sourceProblem
	locks    []lockObject
	warnings [][2]string // text, hint
}

// oldPublish is the age at which a store without a newer generation is worth a word:
// passes that find nothing changed write none.
const oldPublish = 14 * 24 * time.Hour

func (v *invocation) status(ctx context.Context, _ *urfave.Context) error {
	s, err := v.readerSettings()
	if err != nil {
		return err
	}
	var got screen
	if got.locks, err = locksHeld(ctx, s.State); err != nil {
		got.warn("the pass lock cannot be looked at: "+err.Error(), "agentsync doctor")
	}
	got.store = storeObject{Type: "store", Store: s.Store.String(), Config: s.File, State: s.State}
	missing := v.lookAtStore(ctx, s, &got)
	v.lookAtBindings(ctx, s, &got)
	if missing != nil && classify(ctx, missing).exit != exitNotSetUp {
		return missing
	}
	if err := v.showStatus(&got); err != nil {
		return err
	}
	return missing
}

func (got *screen) warn(text, hint string) {
	got.warnings = append(got.warnings, [2]string{text, hint})
}

// lookAtStore fills in what the newest generation says.
func (v *invocation) lookAtStore(ctx context.Context, s *settings, got *screen) error {
	target, done, err := v.openReader(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	got.store.Owner = target.OwnerDID()
	v.lookAtMachines(ctx, target, got)
	view, err := target.View(ctx)
	if err != nil {
		return err
	}
	newest := generationOf(ctx, target, publish.LogEntry{Head: view.Head(), Root: view.Root()})
	o := &got.store
	o.Generation, o.Time, o.Sessions, o.Packs, o.Size = newest.Generation, newest.Time, view.Root().Total, *newest.Packs, *newest.Size
	if at, err := time.Parse(storedTime, newest.Time); err == nil {
		o.AgeSeconds = int64(v.env.Now().Sub(at) / time.Second)
	}
	if err := view.Rows(o.count); err != nil {
		return err
	}
	for _, source := range view.Root().Sources {
		got.sources = append(got.sources, publishedSource{"source", source.ID, source.Driver, source.Installation,
			source.Complete, source.SessionCount, len(source.Errors), append([]string{}, source.Capabilities...), optionsObject(source.Options), 0})
		for _, p := range source.Errors {
			got.problems = append(got.problems, sourceProblem{"problem", source.ID, p.Code, p.Message, p.Session, p.Path})
			if hint := absenceHint(p.Code, source.ID); hint != "" && !s.disabled(source.ID) {
				got.warn(source.ID+": "+withPath(p.Message, p.Path), hint)
				got.sources[len(got.sources)-1].told++
			}
		}
	}
	if newest.Unfinished {
		got.warn("the newest generation was left on the way by a pass that was interrupted, or is at work", "agentsync publish")
	}
	got.judge()
	unlooked, err := s.unlooked(view.Root().Sources)
	if err != nil {
		return err
	}
	for _, source := range unlooked {
		got.warn(unlookedText(source), absenceHint(publish.CodeSourceAbsent, source.ID))
	}
	if got.standing, err = commandStanding(ctx, s, target); err != nil {
		got.warn("remote commands cannot be looked at: "+err.Error(), "agentsync doctor")
	}
	got.standing.warn(got)
	for _, id := range unpublished(s, got.sources) {
		got.warn("source "+id+" is on this machine, and nothing of it is in this store", "agentsync publish --source "+id)
	}
	return nil
}

// unpublished are the ids of this machine's sources that the store does not know.
func unpublished(s *settings, known []publishedSource) (ids []string) {
	for _, source := range s.sources {
		id, err := collect.SourceID(source.ID)
		if err == nil && !slices.ContainsFunc(known, func(p publishedSource) bool { return p.Source == id }) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (o *storeObject) count(row *document.Row) error {
	switch row.Status {
	case document.StatusDeleted:
		o.Deleted++
	case document.StatusStale:
		o.Stale++
	case document.StatusPartial:
		o.Partial++
	}
	if row.Damaged > 0 {
		o.Damaged++
	}
	o.Copies += len(row.Copies)
	return nil
}

// judge makes warnings of what deserves a look.
func (got *screen) judge() {
	o := got.store
	if o.AgeSeconds > int64(oldPublish/time.Second) {
		got.warn("nothing new was published for "+counted(int(o.AgeSeconds/86400), "day", "days"), "agentsync publish")
	}
	for _, source := range got.sources {
		if !source.Complete && (source.told == 0 || source.told < source.Errors) {
			got.warn(fmt.Sprintf("source %s could not be listed whole, %s", source.Source, counted(source.Errors, "error", "errors")),
				"agentsync collect --source "+source.Source)
		}
	}
	for _, one := range []struct {
		n          int
		what, hint string
	}{
		{o.Stale, "stale: their source does not show them, and could not be listed whole", "agentsync ls --status stale"},
		{o.Partial, "partial: their newest state could not be read", "agentsync ls --status partial"},
		{o.Damaged, "with events that are not one sound line; every byte is kept", "agentsync ls --long"},
	} {
		if one.n > 0 {
			got.warn(counted(one.n, "session", "sessions")+" "+one.what, one.hint)
		}
	}
}

// locksHeld tells which passes are running.
func locksHeld(ctx context.Context, state string) (held []lockObject, err error) {
	for _, name := range []string{publishLock, drainLock} {
		one, err := lockHeld(ctx, state, name)
		if err != nil {
			return held, err
		}
		held = append(held, one...)
	}
	return held, nil
}

// lockHeld tells who holds a lock. One without a holder's name is free, so that looking
// takes a lock only where a pass runs, or died.
func lockHeld(ctx context.Context, state, name string) ([]lockObject, error) {
	path := filepath.Join(state, name)
	if _, err := durable.OS().Lstat(path + ".holder"); state == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	release, err := durable.Lock(ctx, durable.OS(), path, 0, durable.Holder{})
	var held *durable.HeldError
	if errors.As(err, &held) {
		return []lockObject{{"lock", path, fmt.Sprintf("%s (process %d, since %s)", held.Holder.Verb, held.Holder.PID,
			held.Holder.Since.Local().Format("2006-01-02 15:04"))}}, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, release()
}

func (v *invocation) showStatus(got *screen) error {
	if v.out.asJSON {
		return v.statusObjects(got)
	}
	o := got.store
	newest := "nothing published yet"
	if o.Generation > 0 {
		newest = fmt.Sprintf("generation %d, %s %s, %s, %s in %s", o.Generation, timeText(&o.Time), agoText(age(v.env.Now(), &o.Time)),
			counted(o.Sessions, "session", "sessions"), bytesText(o.Size), counted(o.Packs, "pack", "packs"))
		if o.Deleted > 0 {
			newest += fmt.Sprintf(", and %d deleted ones kept", o.Deleted)
		}
		if o.Copies > 0 {
			newest += fmt.Sprintf(", %s of what shrank", counted(o.Copies, "copy", "copies"))
		}
	}
	for _, fact := range [][2]string{{"store", o.Store}, {"newest", newest}, {"config", firstOf(o.Config, "none; agents are looked for")},
		{"state", firstOf(o.State, "none")}, {"key", got.standing.DID}, {"commands", got.standing.text()}} {
		if fact[1] == "" {
			continue
		}
		if err := v.out.line("%-8s %s", fact[0], homePath(v.env.Home, clean(fact[1]))); err != nil {
			return err
		}
	}
	list := newTable(column{title: "SOURCE"}, column{title: "DRIVER"}, column{title: "SESSIONS", right: true}, column{title: "LISTED"},
		column{title: "ERRORS", right: true}, column{title: "INSTALLATION", flexible: true})
	for _, source := range got.sources {
		listed := "whole"
		if !source.Complete {
			listed = "in part"
		}
		list.row(source.Source, source.Driver, number(source.Sessions), listed, countOrNone(source.Errors), shortDID(source.Installation))
	}
	if err := v.out.table(list); err != nil {
		return err
	}
	if err := v.showMachines(got.machines); err != nil {
		return err
	}
	return v.endStatus(got)
}

func (v *invocation) endStatus(got *screen) error {
	for _, lock := range got.locks {
		if err := v.out.line("running  %s", lock.Holder); err != nil {
			return err
		}
	}
	for _, p := range got.problems {
		if err := v.out.line("problem  %s", clean(withPath(p.Message, p.Path))); err != nil {
			return err
		}
	}
	for _, w := range got.warnings {
		v.out.warn("%s", w[0])
		if !v.out.quiet {
			v.out.diagnose("hint", w[1])
		}
	}
	return nil
}

// warningObject is one warning in JSON.
type warningObject struct {
	Type    string `json:"message_type"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (v *invocation) statusObjects(got *screen) error {
	objects := []any{got.store}
	if got.standing.Type != "" {
		objects = append(objects, got.standing)
	}
	for _, source := range got.sources {
		objects = append(objects, source)
	}
	for _, machine := range got.machines {
		objects = append(objects, machine)
	}
	for _, lock := range got.locks {
		objects = append(objects, lock)
	}
	for _, p := range got.problems {
		objects = append(objects, p)
	}
	for _, w := range got.warnings {
		objects = append(objects, warningObject{"warning", w[0], w[1]})
	}
	for _, o := range append(objects, statusSummary{"summary", len(got.warnings)}) {
		if err := v.out.object(o); err != nil {
			return err
		}
	}
	return nil
}

func agoText(age string) string {
	if age == "now" {
		return "just now"
	}
	return age + " ago"
}
