package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) lsVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "ls",
		Category:  groupRead,
		Usage:     "list the published sessions, the last changed first",
		ArgsUsage: "[QUERY]",
		Description: "QUERY finds sessions by a part of their title, folder, key, repository or branch. Deleted sessions, those that " +
			"their agent hides, and those of sub-agents are counted, not listed, unless --all is given.",
		UsageText: "agentsync ls\nagentsync ls --since 7d --json\nagentsync ls --cwd . parser",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "since", Usage: "only sessions that changed since `WHEN`: 7d, 36h, 2026-03-01"},
			sourceFlag(),
			&urfave.StringFlag{Name: "cwd", Usage: "only sessions of the folder `DIR` and below"},
			&urfave.StringFlag{Name: "status", Usage: "only sessions that are `STATUS`: complete, partial, stale or deleted"},
			&urfave.BoolFlag{Name: "all", Usage: "also deleted and hidden sessions, and those of sub-agents below their parents"},
			&urfave.IntFlag{Name: "limit", Usage: "at most `N` sessions"},
			&urfave.BoolFlag{Name: "previews", Usage: "also the beginnings of each session's last messages: one in a table, up to twelve with --json"},
			&urfave.BoolFlag{Name: "long", Usage: "also status, branch, damage and whole keys"},
			generationFlag(),
		},
		Action: action(0, 1, v.ls),
	}
}

// rowObject is one published session in JSON: what the index says of it.
type rowObject struct {
	sessionObject
	OwnerDID     string          `json:"owner_did"`
	GitRepo      *string         `json:"git_repo"`
	GitBranch    *string         `json:"git_branch"`
	GitWorktree  *string         `json:"git_worktree_root"`
	GitHead      *string         `json:"git_head_sha"`
	GitRemotes   []remoteObject  `json:"git_remotes"`
	GitObserved  *string         `json:"git_observed_at"`
	Active       *bool           `json:"active,omitempty"`
	StartedAs    string          `json:"started_as,omitempty"`
	Capabilities []string        `json:"capabilities"`
	Options      json.RawMessage `json:"options,omitempty"`
	Manifest     string          `json:"manifest"`
	ManifestHash string          `json:"manifest_hash"`
	ContentHash  string          `json:"content_hash"`
	Status       string          `json:"status"`
	DeletedAt    *string         `json:"deleted_at,omitempty"`
	Events       int             `json:"events"`
	Messages     int             `json:"messages"`
	Damaged      int             `json:"damaged"`
	Revision     int64           `json:"revision"`
	Copy         int             `json:"copy,omitempty"`
	Copies       []copyObject    `json:"copies,omitempty"`
	// Recent are the last messages, oldest first, when they were asked for.
	Recent []recentObject `json:"recent_messages,omitempty"`
}

// copyObject is a kept copy of what a session was, in JSON.
type copyObject struct {
	Key         string `json:"key"`
	Why         string `json:"why"`
	At          string `json:"at"`
	ContentHash string `json:"content_hash"`
	Events      int    `json:"events"`
	Messages    int    `json:"messages"`
	Size        int64  `json:"size"`
}

type remoteObject struct {
	Name string   `json:"name"`
	URLs []string `json:"urls"`
}

// objectOf renders a row. Its capabilities are those of its source.
func objectOf(view *publish.View, row *document.Row) rowObject {
	o := rowObject{
		sessionObject: sessionOf(row), OwnerDID: view.Root().OwnerDID,
		GitRepo: row.Git.Repo, GitBranch: row.Git.Branch, GitWorktree: row.Git.WorktreeRoot, GitHead: row.Git.HeadSHA,
		GitRemotes: []remoteObject{}, GitObserved: row.Git.ObservedAt, Active: row.Active, StartedAs: row.StartedAs,
		Capabilities: []string{}, Manifest: view.ManifestID(row), ManifestHash: row.ManifestHash.String(),
		ContentHash: row.ContentHash.String(), Status: row.Status, DeletedAt: row.DeletedAt,
		Events: row.Events, Messages: row.Messages, Damaged: row.Damaged, Revision: row.Revision,
	}
	o.Copy = row.CopyN
	for i := range row.Copies {
		c := &row.Copies[i]
		o.Copies = append(o.Copies, copyObject{Key: fmt.Sprintf("%s@%d", row.Key, c.N), Why: c.Why, At: c.At,
			ContentHash: c.ContentHash.String(), Events: c.Events, Messages: c.Messages, Size: c.Size})
	}
	for _, remote := range row.Git.Remotes {
		o.GitRemotes = append(o.GitRemotes, remoteObject(remote))
	}
	for _, source := range view.Root().Sources {
		if source.ID == row.SourceID {
			o.Capabilities = append(o.Capabilities, source.Capabilities...)
			o.Options = optionsObject(source.Options)
		}
	}
	return o
}

func sessionOf(row *document.Row) sessionObject {
	return sessionObject{Type: "session", Key: row.Key, Source: row.SourceID, Driver: row.Driver, Session: row.NativeSessionID,
		Parent: row.Parent, Title: row.Title, Cwd: row.Cwd, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Archived: row.Archived, Hidden: row.Hidden, Size: row.Size}
}

// lsSummary ends a listing. Listed + Hidden + Limited are the sessions that match.
type lsSummary struct {
	Type       string `json:"message_type"`
	Listed     int    `json:"listed"`
	Hidden     int    `json:"hidden"`
	Limited    int    `json:"limited"`
	Size       int64  `json:"size"`
	Generation int64  `json:"generation"`
	Store      string `json:"store"`
}

// choice says which sessions are listed.
type choice struct {
	since    string // stored form of a time, "" for all
	sources  []string
	cwds     []string // the folder as typed, and with its links resolved
	status   string
	query    string // lower case
	all      bool
	previews bool // rows are read on
}

func (v *invocation) choose(c *urfave.Context) (choice, error) {
	w := choice{status: c.String("status"), all: c.Bool("all"), previews: c.Bool("previews"), query: strings.ToLower(c.Args().First())}
	if value := c.String("since"); value != "" {
		at, err := since(value, v.env.Now())
		if err != nil {
			return w, err
		}
		w.since = at.UTC().Format(storedTime)
	}
	if dir := c.String("cwd"); dir != "" {
		w.cwds = v.foldersOf(dir)
	}
	var err error
	if w.sources, err = sourceIDs(c); err != nil {
		return w, err
	}
	known := []string{document.StatusComplete, document.StatusPartial, document.StatusStale, document.StatusDeleted}
	if w.status != "" && !slices.Contains(known, w.status) {
		return w, usageError("one of: "+joined(known), "unknown --status %q", w.status)
	}
	if c.Int("limit") < 0 {
		return w, usageError("for example: --limit 20", "a negative --limit")
	}
	return w, nil
}

// matches reports a row that was asked for, whether it is listed or only counted.
func (w *choice) matches(row *document.Row) bool {
	switch {
	case w.since != "" && text(row.UpdatedAt) < w.since,
		len(w.sources) > 0 && !slices.Contains(w.sources, row.SourceID),
		w.status != "" && row.Status != w.status,
		len(w.cwds) > 0 && !belowAny(w.cwds, text(row.Cwd)) && !belowAny(w.cwds, text(row.Git.WorktreeRoot)):
		return false
	}
	if w.query == "" {
		return true
	}
	return slices.ContainsFunc([]string{text(row.Title), text(row.Cwd), row.Key, row.NativeSessionID, text(row.Git.Repo), text(row.Git.Branch)},
		func(field string) bool { return strings.Contains(strings.ToLower(field), w.query) })
}

// foldersOf are the ways in which sessions may name a typed folder. One of another system
// is taken as it is typed: it was printed so.
func (v *invocation) foldersOf(typed string) []string {
	if rooted(typed) && !filepath.IsAbs(typed) {
		return []string{typed}
	}
	dir := filepath.Clean(v.env.abs(typed))
	if real := resolved(dir); real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

func belowAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return below(dir, path) })
}

// below reports a path that is dir or lies in it. Windows takes two spellings of a path for
// one: letters of either case, and slashes of either kind.
func below(dir, path string) bool {
	if windowsPath(dir) && windowsPath(path) {
		fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "/", `\`)) }
		dir, path = fold(dir), fold(path)
	}
	rest, ok := strings.CutPrefix(path, strings.TrimRight(dir, `/\`))
	return ok && path != "" && (rest == "" || rest[0] == '/' || rest[0] == '\\')
}

// windowsPath reports an absolute path of Windows.
func windowsPath(path string) bool { return rooted(path) && !strings.HasPrefix(path, "/") }

// hides reports a row that is counted and not listed.
func (w *choice) hides(row *document.Row) bool {
	if w.all {
		return false
	}
	return row.Hidden && len(row.Copies) == 0 || row.Parent != "" || row.Status == document.StatusDeleted && w.status == ""
}

// recentDays is how far back the recent index reaches from its generation.
const recentDays = 7 * 24 * time.Hour

// recentEnough reports that the recent index holds every row that can be listed, so
// that old pages need not be read.
func (w *choice) recentEnough(root *document.Root) bool {
	generated, err := time.Parse(storedTime, root.GeneratedAt)
	return err == nil && w.since != "" && !w.all && w.status != document.StatusDeleted &&
		w.since >= generated.Add(-recentDays).UTC().Format(storedTime)
}

// found are the rows of a choice, newest first, and what was left out.
type found struct {
	rows   []*document.Row
	recent [][]recentObject // of each row, nil when they were not asked for
	keys   []string         // of all rows seen, to abbreviate by
	hidden int
	parts  []*document.Row // of threads in several files, when they are not listed themselves
}

var errEnough = errors.New("enough rows")

// find reads the rows of a choice. Only what a listing shows is kept of each.
func (w *choice) find(view *publish.View) (found, error) {
	var got found
	take := func(row *document.Row) error {
		got.keys = append(got.keys, row.Key)
		if !w.all && isPart(row) {
			got.parts = append(got.parts, w.slim(row))
		}
		switch {
		case !w.matches(row):
		case w.hides(row):
			got.hidden++
		default:
			got.rows = append(got.rows, w.slim(row))
		}
		return nil
	}
	if !w.recentEnough(view.Root()) {
		if err := view.Rows(take); err != nil {
			return got, err
		}
		return got, got.fold(view, w)
	}
	err := view.Newest(func(row *document.Row) error {
		if text(row.UpdatedAt) < w.since {
			return errEnough
		}
		return take(row)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return got, err
	}
	return got, got.fold(view, w)
}

// slim is what is kept of a row.
func (w *choice) slim(row *document.Row) *document.Row {
	slim := row.Known()
	if !w.previews {
		slim.Table = document.Table{}
	}
	return &slim
}

func newestRow(a, b *document.Row) int {
	if order := strings.Compare(text(b.UpdatedAt), text(a.UpdatedAt)); order != 0 {
		return order
	}
	return strings.Compare(a.Key, b.Key)
}

func (v *invocation) ls(ctx context.Context, c *urfave.Context) error {
	wanted, err := v.choose(c)
	if err != nil {
		return err
	}
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	summary := lsSummary{Type: "summary", Store: target.Store.Location()}
	view, err := v.view(ctx, target, c)
	if errors.Is(err, publish.ErrEmpty) {
		return v.endLs(summary)
	}
	if err != nil {
		return err
	}
	got, err := wanted.find(view)
	if err != nil {
		return err
	}
	summary.Generation, summary.Hidden = view.Head().Generation, got.hidden
	if limit := c.Int("limit"); limit > 0 && len(got.rows) > limit {
		summary.Limited = len(got.rows) - limit
		got.rows = got.rows[:limit]
	}
	summary.Listed = len(got.rows)
	for _, row := range got.rows {
		summary.Size += row.Size
	}
	if c.Bool("previews") {
		got.recent = make([][]recentObject, len(got.rows))
		for i, row := range got.rows {
			if got.recent[i], err = recentOf(view, row); err != nil {
				return err
			}
		}
	}
	if err := v.showRows(view, got, c.Bool("long")); err != nil {
		return err
	}
	return v.endLs(summary)
}

func (v *invocation) showRows(view *publish.View, got found, long bool) error {
	if !v.out.asJSON {
		return v.out.table(v.rowTable(got, long))
	}
	for i, row := range got.rows {
		o := objectOf(view, row)
		if got.recent != nil {
			o.Recent = got.recent[i]
		}
		if err := v.out.object(o); err != nil {
			return err
		}
	}
	return nil
}

// rowTable lays rows out for people, a child below its parent.
func (v *invocation) rowTable(got found, long bool) *table {
	short := abbreviate(got.keys)
	sessions := make([]sessionObject, len(got.rows))
	for i, row := range got.rows {
		sessions[i] = sessionOf(row)
	}
	columns := []column{{title: "AGE", right: true}, {title: "SOURCE"}, {title: "KEY"}, {title: "FOLDER", flexible: true, keepEnd: true},
		{title: "TITLE", flexible: true}, {title: "MSGS", right: true}, {title: "SIZE", right: true}, {title: "STATUS"}}
	if long {
		columns = append(columns, column{title: "BRANCH", flexible: true}, column{title: "DAMAGED", right: true})
	}
	if got.recent != nil {
		columns = append(columns, column{title: "LAST", flexible: true})
	}
	list := newTable(columns...)
	for _, p := range underParents(sessions) {
		row, s := got.rows[p.index], sessions[p.index]
		key := short[s.Key][strings.IndexByte(s.Key, '/')+1:]
		switch {
		case long:
			key = s.Key
		case p.depth > 0:
			key = childName(s)
		}
		cells := []string{age(v.env.Now(), row.UpdatedAt), row.SourceID, childMark(p.depth) + key, homePath(v.env.Home, text(row.Cwd)),
			titleText(s), number(row.Messages), bytesText(row.Size), unusual(row)}
		if long {
			cells = append(cells, text(row.Git.Branch), countOrNone(row.Damaged))
		}
		if got.recent != nil {
			cells = append(cells, lastText(got.recent[p.index]))
		}
		list.row(cells...)
	}
	return list
}

// unusual is a row's status where it is worth a word.
func unusual(row *document.Row) string {
	var words []string
	if row.Status != document.StatusComplete {
		words = append(words, row.Status)
	}
	for i := range row.Copies {
		words = append(words, fmt.Sprintf("%s: @%d", row.Copies[i].Why, row.Copies[i].N))
	}
	return strings.Join(words, ", ")
}

func countOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

// age says how long ago a stored time was, in its largest unit.
func age(now time.Time, stored *string) string {
	if stored == nil {
		return "?"
	}
	at, err := time.Parse(storedTime, *stored)
	if err != nil {
		return "?"
	}
	ago := max(now.Sub(at), 0)
	for _, unit := range []struct {
		length time.Duration
		sign   string
	}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := ago / unit.length; n > 0 {
			return number(int(n)) + unit.sign
		}
	}
	return "now"
}

func (v *invocation) endLs(s lsSummary) error {
	if v.out.asJSON {
		return v.out.object(s)
	}
	if s.Generation == 0 {
		return v.out.note("nothing was published yet: agentsync publish")
	}
	line := counted(s.Listed, "session", "sessions") + ", " + bytesText(s.Size)
	if s.Limited > 0 {
		line += "; " + number(s.Limited) + " more beyond --limit"
	}
	if s.Hidden > 0 {
		line += "; " + number(s.Hidden) + " more with --all (deleted, hidden, sub-agents)"
	}
	return v.out.note("%s", line)
}
