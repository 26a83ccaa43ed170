package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
)

// RestoreOptions say what to restore and where to.
type RestoreOptions struct {
	Rows []*document.Row
	// Folder is where a source's files go. Of a source that reads several folders, root is
	// the one that the session was in, else "".
	Folder func(sourceID, root string) (Place, error)
	// Allows returns which paths below its folder, with slashes, a driver's sessions may be
	// restored to; nil for a driver that is not known here.
	Allows func(driver string) func(path string) bool
	// Directory is the working directory that a row's family belongs to, "" for none;
	// nil takes each row's own. Maps apply to it, so that children stay with their parents.
	Directory func(row *document.Row) string
	Map       []PathMap
	// Resolve follows the links of a mapped directory, which agents name folders after the
	// end of; nil leaves it as it is typed.
	Resolve func(dir string) string
	// Time is the time that a row's files get below folder, given their own (zero when not
	// known); nil leaves them that. It may be called by several goroutines.
	Time     func(row *document.Row, folder string, own time.Time) time.Time
	Force    bool // replace files that differ
	DryRun   bool
	Workers  int
	Progress func(done, total int, key string)
}

// Place is a folder that a person chose, and what lies below it: the way to Base may lead
// through links, from there on nothing does.
type Place struct {
	Base  string
	Below string // with slashes, "" for Base itself
}

// PathMap moves sessions of working directories at or below From to below To.
type PathMap struct{ From, To string }

// What became of a file.
const (
	FileWritten   = "written"
	FileSame      = "same"
	FileDiffers   = "differs" // kept as it is, for want of Force
	FileReplaced  = "replaced"
	FileFailed    = "failed"
	FileWouldBe   = "would-write" // of a dry run
	FileWouldHide = "would-replace"
)

// RestoredFile is one file of a restored session.
type RestoredFile struct {
	Key    string
	Path   string
	Status string
	Bytes  int64
	Err    error // for FileFailed
}

// Restore gives the bytes of sessions back. Each file is written beside its place, and
// moved there when its whole session was read and is sound: of one that is damaged
// nothing is written. A file that exists and differs is left alone without Force, and
// nothing is ever written where the session's driver does not say, outside the source's
// folder or through a link. What fails ends itself alone: a file, or what it holds back a
// session. Two sessions never share a file: the second one fails.
func (t *Target) Restore(ctx context.Context, o RestoreOptions) ([]RestoredFile, error) {
	var mu sync.Mutex
	var files []RestoredFile
	var taken owners
	done := 0
	err := parallel(ctx, o.Workers, len(o.Rows), func(ctx context.Context, next func() int) error {
		r := &restorer{RestoreOptions: o, lib: t.library(ctx), taken: &taken}
		for i := next(); i >= 0; i = next() {
			r.files = nil
			if err := r.session(o.Rows[i]); err != nil {
				if ctx.Err() != nil {
					return err
				}
				r.files = append(r.files, RestoredFile{Key: o.Rows[i].Key, Status: FileFailed, Err: err})
			}
			mu.Lock()
			files = append(files, r.files...)
			done++
			if o.Progress != nil {
				o.Progress(done, len(o.Rows), o.Rows[i].Key)
			}
			mu.Unlock()
		}
		return nil
	})
	return files, err
}

// owners remember which session a restored path belongs to, and number what is not
// finished.
type owners struct {
	mu    sync.Mutex
	keys  map[string]string
	swept map[string]bool // folders in which nothing is left of restores that were killed
	count int
}

// sweeps reports that a folder is still to be swept, once.
func (o *owners) sweeps(folder string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.swept == nil {
		o.swept = map[string]bool{}
	}
	fresh := !o.swept[folder]
	o.swept[folder] = true
	return fresh
}

func (o *owners) next() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	return o.count
}

// claim gives a path to a session, or returns the one that has it.
func (o *owners) claim(path, key string) (owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys == nil {
		o.keys = map[string]string{}
	}
	if owner, ok := o.keys[path]; ok {
		return owner
	}
	o.keys[path] = key
	return ""
}

type restorer struct {
	RestoreOptions
	lib   *library
	taken *owners
	files []RestoredFile
	s     Session
}

// session restores one session: a transcript is one file, a set of side files many.
func (r *restorer) session(row *document.Row) error {
	m, table, err := r.lib.manifest(row)
	if err != nil {
		return err
	}
	r.s.Row, r.s.Manifest, r.s.table, r.s.lib = row, m, table, r.lib
	place, err := r.Folder(row.SourceID, row.Placement.Root)
	if err != nil {
		return err
	}
	allows := r.Allows(row.Driver)
	if allows == nil {
		return fmt.Errorf("session %s is of driver %q, of whose files this version knows nothing", row.Key, row.Driver)
	}
	at := row.Placement.Path
	if at == "" {
		return fmt.Errorf("session %s does not say which file it was", row.Key)
	}
	at = r.mapped(at, row.Driver, r.directory(row))
	root, err := openFolder(place.Base, r.DryRun)
	if err != nil {
		return err
	}
	when := modified(m)
	if r.Time != nil {
		when = r.Time(row, filepath.Join(place.Base, filepath.FromSlash(place.Below)), when)
	}
	f := &filer{restorer: r, root: root, place: place, allows: allows, row: row, when: when,
		zstd: row.Placement.Container == "zstd", folders: map[string]bool{}}
	if root != nil {
		defer root.Close()
	}
	defer f.drop()
	if err := r.pour(f, at); err != nil {
		return err
	}
	return f.finish(m.Size)
}

func (r *restorer) directory(row *document.Row) string {
	switch {
	case r.Directory != nil:
		return r.Directory(row)
	case row.Cwd != nil:
		return *row.Cwd
	}
	return ""
}

// openFolder opens a source's folder, and makes it unless this is a dry run: then an
// absent one is nil.
func openFolder(folder string, dry bool) (*os.Root, error) {
	if !dry {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(folder)
	if dry && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return root, err
}

// pour writes the session's raws to the files they belong to. Only a set of side files
// names its files in its events; a transcript's lines are what they are.
func (r *restorer) pour(f *filer, at string) error {
	side := isSideSet(r.s.Row)
	r.s.bare = !side
	err := r.s.Events(func(i int, e *document.ChunkEvent) error {
		name, mode := at, uint32(0o600)
		if side {
			name = at + "/" + piecePath(e.Value)
			if n, ok := e.Value.Path("mode").Integer(); ok {
				mode = uint32(n) & 0o777
			}
		}
		if err := f.open(name, mode); err != nil {
			return err
		}
		if e.Plain {
			f.write(e.Text)
			f.write(newline)
			return nil
		}
		f.write(e.Raw)
		return nil
	})
	if err != nil || side || r.s.Manifest.Size > 0 {
		return err
	}
	return f.open(at, 0o600) // an empty transcript is a file all the same
}

// isSideSet reports a session that is a set of side files, which may be empty.
func isSideSet(row *document.Row) bool {
	return row.Driver == claudeDriver && strings.HasSuffix(row.NativeSessionID, "/files")
}

// modified is the time that a restored file gets: what the provider's summary gives the
// file, or else when the session was last changed; zero when neither is known.
func modified(m *document.Manifest) time.Time {
	if ms, ok := m.Summary.Path("raw", "lastModified").Integer(); ok {
		return time.UnixMilli(ms)
	}
	at, err := time.Parse(stampForm, m.Summary.Path("updatedAt").Str())
	if err != nil {
		return time.Time{}
	}
	return at
}

// mapped applies the path maps. Claude keeps a session in a folder named after its
// working directory, so a mapped directory means another folder; the records keep
// what they say. The longest From that fits decides. The folder is named after the
// directory or one above it; without a directory only a From that it is named after
// exactly can tell what it was.
func (o *RestoreOptions) mapped(at, driver, directory string) string {
	below, ok := strings.CutPrefix(at, projectsFolder)
	if driver != claudeDriver || !ok {
		return at
	}
	folder, rest, _ := strings.Cut(below, "/")
	to, ok := mapFolder(folder, directory, o.Map)
	if !ok {
		return at
	}
	if o.Resolve != nil {
		to = o.Resolve(to)
	}
	return projectsFolder + strings.TrimSuffix(collect.ProjectKey(to)+"/"+rest, "/")
}

const projectsFolder = "projects/"

func mapFolder(folder, directory string, maps []PathMap) (string, bool) {
	if project := projectDirectory(directory, folder); project != "" {
		return mapDirectory(project, maps)
	}
	for _, m := range maps {
		if collect.ProjectKey(m.From) == folder {
			return m.To, true
		}
	}
	return "", false
}

// projectDirectory is the directory that a project folder is named after: the working
// directory of its session, or the nearest one above. A session that worked elsewhere
// gives its working directory.
func projectDirectory(directory, folder string) string {
	for dir := directory; dir != ""; {
		if collect.ProjectKey(dir) == folder {
			return dir
		}
		end := strings.LastIndexAny(dir, `/\`)
		if end < 0 {
			break
		}
		dir = dir[:end]
	}
	return directory
}

// Maps reports whether any of the maps moves a directory.
func Maps(directory string, maps []PathMap) bool {
	_, ok := mapDirectory(directory, maps)
	return ok
}

// mapDirectory moves a directory at or below some From to below its To.
func mapDirectory(cwd string, maps []PathMap) (string, bool) {
	best, rest, found := PathMap{}, "", false
	for _, m := range maps {
		below, ok := strings.CutPrefix(cwd, strings.TrimRight(m.From, `/\`))
		if ok && (below == "" || below[0] == '/' || below[0] == '\\') && len(m.From) >= len(best.From) {
			best, rest, found = m, below, true
		}
	}
	if rest == "" {
		return best.To, found
	}
	switch here, there := strings.HasPrefix(best.To, "/"), strings.HasPrefix(best.From, "/"); {
	case here && !there: // from Windows
		rest = strings.ReplaceAll(rest, `\`, "/")
	case there && !here:
		rest = strings.ReplaceAll(rest, "/", `\`)
	}
	return strings.TrimRight(best.To, `/\`) + rest, found
}

const claudeDriver = "claude-agent-sdk"
