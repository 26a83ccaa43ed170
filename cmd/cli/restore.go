package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) restoreVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "restore",
		Category:  groupKeep,
		Usage:     "write published sessions back as files, byte for byte",
		ArgsUsage: "[KEY…]",
		Description: "Files go into the folder of the session's agent, or with --to below DIR/SOURCE. A session brings its " +
			"sub-agents and side files. A file that is there and differs is kept and named, unless --force is given. " +
			"With --map a Claude session goes to the folder of another working directory, links resolved; its records stay as " +
			"they are. Files get their own times, but for those that the agent would take for old and remove again: these get " +
			"the time of now.",
		UsageText: "agentsync restore 3f2a\nagentsync restore --all --to /tmp/sessions\nagentsync restore --map /home/a=/home/b --dry-run 3f2a",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "all", Usage: "every published session, deleted ones included"},
			&urfave.BoolFlag{Name: "deleted", Usage: "every session that is marked deleted, and no other"},
			sourceFlag(),
			&urfave.StringFlag{Name: "to", Usage: "restore below `DIR`, by source"},
			&urfave.StringSliceFlag{Name: "map", Usage: "`OLD=NEW`: sessions of the directory OLD and below belong to NEW here (may be repeated, the longest OLD wins)"},
			&urfave.BoolFlag{Name: "touch", DefaultText: "what the agent would remove again", Usage: "give the files the time of now; --touch=false: their own in any case"},
			&urfave.BoolFlag{Name: "force", Usage: "replace files that differ"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would be written, and write nothing"},
			generationFlag(),
		},
		Action: action(0, -1, v.restore),
	}
}

// fileObject is what became of one file, in JSON.
type fileObject struct {
	Type    string `json:"message_type"`
	Session string `json:"session"`
	Path    string `json:"path"`
	Status  string `json:"status"`
	Size    int64  `json:"size"`
}

// restoreSummary ends a restore. Files is the sum of the counts that follow it.
type restoreSummary struct {
	Type     string `json:"message_type"`
	Sessions int    `json:"sessions"`
	Files    int    `json:"files"`
	Written  int    `json:"written"`
	Replaced int    `json:"replaced"`
	Same     int    `json:"same"`
	Differs  int    `json:"differs"`
	Failed   int    `json:"failed"`
	Size     int64  `json:"size"` // of files written and replaced
	DryRun   bool   `json:"dry_run"`
}

func (v *invocation) restore(ctx context.Context, c *urfave.Context) error {
	maps, err := parseMaps(c.StringSlice("map"))
	if err != nil {
		return err
	}
	if ways := []bool{c.Bool("all"), c.Bool("deleted"), c.NArg() > 0}; count(ways) != 1 {
		return usageError("agentsync restore KEY, or --all, or --deleted", "restore needs one of session keys, --all and --deleted")
	}
	s, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	view, err := v.view(ctx, target, c)
	if err != nil {
		return err
	}
	kin, err := readKinship(view)
	if err != nil {
		return err
	}
	rows, err := v.chosenRows(view, kin, c)
	if err != nil {
		return err
	}
	o := publish.RestoreOptions{Rows: rows, Map: maps, Allows: drivers.Restores, Directory: kin.directory, Resolve: resolved, Force: c.Bool("force"), DryRun: c.Bool("dry-run"), Workers: workers()}
	if to := c.String("to"); to != "" {
		o.Folder = belowDir(v.env.abs(to))
	} else {
		o.Folder = v.ownFolders(s, view)
		v.warnOfDirectories(rows, kin, maps)
	}
	times := v.newTimes(c)
	o.Time = times.of
	meter := v.meter("restore", "sessions", int64(len(rows)))
	o.Progress = func(done, _ int, _ string) { meter.set(int64(done)) }
	files, err := target.Restore(ctx, o)
	meter.hide()
	if err != nil {
		return err
	}
	times.tell(v.out, files)
	return v.showRestored(len(rows), files, o)
}

func count(flags []bool) (n int) {
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}

// parseMaps reads OLD=NEW, both absolute.
func parseMaps(typed []string) ([]publish.PathMap, error) {
	var maps []publish.PathMap
	for _, one := range typed {
		from, to, ok := strings.Cut(one, "=")
		if !ok || !rooted(from) || !rooted(to) {
			return nil, usageError("for example: --map /home/a=/home/b", "--map %q is not OLD=NEW with two absolute directories", one)
		}
		maps = append(maps, publish.PathMap{From: from, To: to})
	}
	return maps, nil
}

// rooted reports an absolute path of any system: sessions come from other machines.
func rooted(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || drive
}

// kinship knows of every published session its parent and its directory.
type kinship struct {
	members  map[string]member   // by key
	children map[string][]string // keys by the parent's key
}

type member struct{ source, parent, cwd string }

func readKinship(view *publish.View) (*kinship, error) {
	k := &kinship{members: map[string]member{}, children: map[string][]string{}}
	err := view.Rows(func(row *document.Row) error {
		m := member{source: row.SourceID, cwd: text(row.Cwd)}
		if row.Parent != "" {
			// A parent that no key can hold has no row.
			m.parent, _ = collect.SessionKey(row.SourceID, row.Parent)
			k.children[m.parent] = append(k.children[m.parent], row.Key)
		}
		k.members[row.Key] = m
		return nil
	})
	return k, err
}

// family adds to keys those of their children, and of theirs.
func (k *kinship) family(keys []string) []string {
	seen := map[string]bool{}
	var all []string
	for queue := slices.Clone(keys); len(queue) > 0; queue = queue[1:] {
		if key := queue[0]; !seen[key] {
			seen[key] = true
			all = append(all, key)
			queue = append(queue, k.children[key]...)
		}
	}
	slices.Sort(all)
	return all
}

// directory is the working directory of a row's oldest ancestor: the whole family lies
// in its project folder.
func (k *kinship) directory(row *document.Row) string {
	found, seen := text(row.Cwd), map[string]bool{}
	for key := row.Key; key != "" && !seen[key]; key = k.members[key].parent {
		seen[key] = true
		if m, ok := k.members[key]; ok && m.cwd != "" {
			found = m.cwd
		}
	}
	return found
}

// chosenRows are the rows that were asked for, with their families.
func (v *invocation) chosenRows(view *publish.View, kin *kinship, c *urfave.Context) ([]*document.Row, error) {
	only, err := sourceIDs(c)
	if err != nil {
		return nil, err
	}
	if c.Bool("all") || c.Bool("deleted") {
		var rows []*document.Row
		err := view.Rows(func(row *document.Row) error {
			wanted := c.Bool("all") || row.Status == document.StatusDeleted
			if wanted && (len(only) == 0 || slices.Contains(only, row.SourceID)) {
				rows = append(rows, row)
			}
			return nil
		})
		return rows, err
	}
	var rows []*document.Row
	var keys []string
	for _, typed := range c.Args().Slice() {
		row, err := oneRow(view, typed)
		if err != nil {
			return nil, err
		}
		if len(only) > 0 && !slices.Contains(only, row.SourceID) {
			return nil, usageError("leave out --source, or name another session", "%s is not of the source that --source names", row.Key)
		}
		if row.CopyN > 0 {
			rows = append(rows, row)
			continue
		}
		keys = append(keys, row.Key)
	}
	for _, key := range kin.family(keys) {
		row, err := view.Find(key)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// belowDir places each source in a folder of its own below dir, named as in session
// keys; the folders of a source that reads several stay apart.
func belowDir(dir string) func(sourceID, root string) (publish.Place, error) {
	return func(sourceID, root string) (publish.Place, error) {
		key, err := collect.SessionKey(sourceID, "x")
		below, _, _ := strings.Cut(key, "/")
		if root != "" {
			below += "/" + collect.ProjectKey(root)
		}
		return publish.Place{Base: dir, Below: below}, err
	}
}

// ownFolders places each source in its agent's folder on this machine: that of the
// source of the same id, or of the only source that has the same driver. A session goes
// to the folder it was in, when the source still reads it, else to the first one.
func (v *invocation) ownFolders(s *settings, view *publish.View) func(sourceID, root string) (publish.Place, error) {
	local := s.sources
	if s.detected {
		local = nil
		for _, one := range drivers.Detect(s.env) {
			local = append(local, one.Config)
		}
	}
	places := map[string]collect.SourceConfig{}
	for _, published := range view.Root().Sources {
		if source, ok := counterpart(published, local); ok {
			places[published.ID] = source
		}
	}
	return func(sourceID, root string) (publish.Place, error) {
		source, ok := places[sourceID]
		if slices.Contains(source.Roots, root) {
			return publish.Place{Base: root}, nil
		}
		if folder := drivers.Folder(source, s.env); ok && folder != "" {
			return publish.Place{Base: folder}, nil
		}
		return publish.Place{}, &failure{exit: exitPartial, code: "no-folder", source: sourceID,
			message: "source " + sourceID + " has no folder on this machine", hint: "say where to: agentsync restore --to DIR"}
	}
}

// counterpart is the source of this machine that a published one is restored to.
func counterpart(published document.Source, local []collect.SourceConfig) (collect.SourceConfig, bool) {
	var alike []collect.SourceConfig
	for _, source := range local {
		if id, err := collect.SourceID(source.ID); err == nil && id == published.ID && source.Driver == published.Driver {
			return source, true
		}
		if source.Driver == published.Driver {
			alike = append(alike, source)
		}
	}
	if len(alike) != 1 {
		return collect.SourceConfig{}, false
	}
	return alike[0], true
}

// mostWarned is how many directories a warning names.
const mostWarned = 5

// warnOfDirectories tells of sessions whose agent would not find them: nothing is
// guessed about where a directory of another machine is here.
func (v *invocation) warnOfDirectories(rows []*document.Row, kin *kinship, maps []publish.PathMap) {
	var gone []string
	for _, row := range rows {
		dir := kin.directory(row)
		if row.Parent != "" || dir == "" || slices.Contains(gone, dir) || publish.Maps(dir, maps) {
			continue
		}
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			gone = append(gone, dir)
		}
	}
	if len(gone) == 0 || v.out.quiet {
		return
	}
	more := ""
	slices.Sort(gone)
	if len(gone) > mostWarned {
		gone, more = gone[:mostWarned], ", …"
	}
	v.out.warn("sessions belong to directories that are not on this machine, where their agent will look for them: %s", joined(gone)+more)
	v.out.diagnose("hint", "say where they are here: agentsync restore --map "+gone[0]+"=/its/place/here")
}

// showRestored prints what became of every file, and returns what the exit code says.
func (v *invocation) showRestored(sessions int, files []publish.RestoredFile, o publish.RestoreOptions) error {
	summary := restoreSummary{Type: "summary", Sessions: sessions, Files: len(files), DryRun: o.DryRun}
	slices.SortStableFunc(files, func(a, b publish.RestoredFile) int {
		return strings.Compare(a.Key+"\x00"+a.Path, b.Key+"\x00"+b.Path)
	})
	end := exitDone
	list := newTable(column{title: "STATUS"}, column{title: "SIZE", right: true}, column{title: "FILE", flexible: true, keepEnd: true})
	for _, f := range files {
		summary.count(f)
		if f.Status == publish.FileFailed {
			end = worse(end, v.reportUnrestored(f))
			continue
		}
		if v.out.asJSON {
			if err := v.out.object(fileObject{"file", f.Key, f.Path, f.Status, f.Bytes}); err != nil {
				return err
			}
		}
		if f.Status == publish.FileDiffers {
			end = worse(end, exitConflict)
			v.reportConflict(f)
		}
		if o.DryRun {
			list.row(f.Status, bytesText(f.Bytes), homePath(v.env.Home, f.Path))
		}
	}
	if err := v.endRestore(list, summary); err != nil {
		return err
	}
	if end == exitDone {
		return nil
	}
	return reported(end)
}

// worse orders the ways a restore can end: damage before what failed before conflicts.
func worse(a, b exitCode) exitCode {
	for _, code := range []exitCode{exitDamaged, exitPartial, exitConflict} {
		if a == code || b == code {
			return code
		}
	}
	return exitDone
}

func (s *restoreSummary) count(f publish.RestoredFile) {
	switch f.Status {
	case publish.FileWritten, publish.FileWouldBe:
		s.Written++
		s.Size += f.Bytes
	case publish.FileReplaced, publish.FileWouldHide:
		s.Replaced++
		s.Size += f.Bytes
	case publish.FileSame:
		s.Same++
	case publish.FileDiffers:
		s.Differs++
	case publish.FileFailed:
		s.Failed++
	}
}

// reportUnrestored names a session that could not be restored, or not whole.
func (v *invocation) reportUnrestored(f publish.RestoredFile) exitCode {
	known := classify(context.Background(), f.Err)
	if known.exit != exitDamaged {
		known.exit = exitPartial
	}
	known.session = f.Key
	if known.path == "" {
		known.path = f.Path
	}
	if known.hint == "" {
		known.hint = "restore it elsewhere: agentsync restore --to DIR " + f.Key
	}
	known.message = f.Key + ": " + f.Err.Error()
	v.out.report(known)
	return known.exit
}

func (v *invocation) reportConflict(f publish.RestoredFile) {
	v.out.report(&failure{exit: exitConflict, session: f.Key, path: f.Path, message: f.Path + " differs from what is published and was kept",
		hint: "replace it: agentsync restore --force " + f.Key + "; or restore elsewhere: --to DIR"})
}

func (v *invocation) endRestore(list *table, s restoreSummary) error {
	if v.out.asJSON {
		return v.out.object(s)
	}
	if err := v.out.table(list); err != nil {
		return err
	}
	wrote := "written"
	if s.DryRun {
		wrote = "to write"
	}
	return v.out.note("%s, %s: %d %s + %d replaced + %d same + %d differing + %d failed; %s", counted(s.Sessions, "session", "sessions"),
		counted(s.Files, "file", "files"), s.Written, wrote, s.Replaced, s.Same, s.Differs, s.Failed, bytesText(s.Size))
}
