package publish

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
)

// RestoreOptions say what to restore and where to.
type RestoreOptions struct {
	Rows     []*document.Row
	Folder   func(sourceID string) (string, error) // where a source's files go
	Map      []PathMap
	Force    bool // replace files that differ
	DryRun   bool
	Workers  int
	Progress func(done, total int, key string)
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
	FileWouldBe   = "would-write"
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

// Restore gives the bytes of sessions back. Each file is written beside its place
// and moved there when it is whole; a file that exists and differs is left alone
// without Force, and nothing is ever written outside the source's folder or through
// a link. A session that fails does not stop the others.
func (t *Target) Restore(ctx context.Context, o RestoreOptions) ([]RestoredFile, error) {
	var mu sync.Mutex
	var files []RestoredFile
	done := 0
	err := parallel(ctx, o.Workers, len(o.Rows), func(ctx context.Context, next func() int) error {
		r := &restorer{RestoreOptions: o, lib: t.library(ctx)}
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

type restorer struct {
	RestoreOptions
	lib   *library
	files []RestoredFile
	s     Session
	buf   []byte
}

// session restores one session: a transcript is one file, a set of side files many.
func (r *restorer) session(row *document.Row) error {
	m, table, err := r.lib.manifest(row)
	if err != nil {
		return err
	}
	r.s.Row, r.s.Manifest, r.s.table, r.s.lib = row, m, table, r.lib
	folder, err := r.Folder(row.SourceID)
	if err != nil {
		return err
	}
	at := m.Summary.Path("raw", "path").Str()
	if at == "" {
		return fmt.Errorf("session %s does not say which file it was", row.Key)
	}
	at = mapped(at, row, r.Map)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	f := &filer{restorer: r, root: root, folder: folder, row: row, when: modified(m)}
	defer f.abandon()
	if err := r.pour(f, at); err != nil {
		return err
	}
	return f.close()
}

// pour writes the session's raws to the files they belong to.
func (r *restorer) pour(f *filer, at string) error {
	side := false
	err := r.s.Events(func(i int, e *document.ChunkEvent) error {
		name, mode := at, uint32(0o600)
		if piece := e.Value.Path("agentsync"); piece.Str() == "file" {
			side = true
			name = path.Join(at, e.Value.Path("path").Str())
			if n, ok := e.Value.Path("mode").Integer(); ok {
				mode = uint32(n) & 0o777
			}
		}
		if err := f.open(name, mode); err != nil {
			return err
		}
		if e.Plain {
			f.out.Write(e.Text)
			return f.out.WriteByte('\n')
		}
		_, err := f.out.Write(e.Raw)
		return err
	})
	if err != nil || side || r.s.Manifest.Size > 0 || r.sideSet() {
		return err
	}
	return f.open(at, 0o600) // an empty transcript is a file all the same
}

// sideSet reports a session that is a set of side files, which may be empty.
func (r *restorer) sideSet() bool { return strings.HasSuffix(r.s.Row.NativeSessionID, "/files") }

// modified is the time that the provider's summary gives the file; zero when none.
func modified(m *document.Manifest) time.Time {
	ms, ok := m.Summary.Path("raw", "lastModified").Integer()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// filer writes one file at a time below a root.
type filer struct {
	*restorer
	root   *os.Root
	folder string
	row    *document.Row
	when   time.Time
	name   string
	mode   uint32
	temp   string
	file   *os.File
	out    *bufio.Writer
}

const tempSuffix = ".agentsync-restore"

// open makes name the file that is written; the one before is finished.
func (f *filer) open(name string, mode uint32) error {
	if f.file != nil && f.name == name {
		return nil
	}
	if err := f.close(); err != nil {
		return err
	}
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("stored path %.200q is no path below a folder", name)
	}
	f.name, f.mode, f.temp = name, mode, name+tempSuffix
	if f.DryRun {
		f.out = bufio.NewWriter(io.Discard)
		return f.compareOnly(name)
	}
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	_ = f.root.Remove(f.temp) // left by a restore that was killed
	file, err := f.root.OpenFile(f.temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, fs.FileMode(mode)|0o200)
	if err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	f.file = file
	if f.out == nil {
		f.out = bufio.NewWriterSize(file, 256<<10)
	} else {
		f.out.Reset(file)
	}
	return nil
}

// compareOnly notes what a restore would do to name.
func (f *filer) compareOnly(name string) error {
	status := FileWouldBe
	if _, err := f.root.Lstat(name); err == nil {
		status = FileWouldHide
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n := len(f.files); n == 0 || f.files[n-1].Path != f.shown() {
		f.files = append(f.files, RestoredFile{Key: f.row.Key, Path: f.shown(), Status: status})
	}
	return nil
}

func (f *filer) shown() string { return filepath.Join(f.folder, filepath.FromSlash(f.name)) }

// close finishes the open file: it is moved to its name unless an equal file is
// there, or a different one that may not be replaced.
func (f *filer) close() error {
	if f.file == nil {
		return nil
	}
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("restore %s: %w", f.name, err)
	}
	size, err := f.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	status, err := f.settle(size)
	if err != nil {
		return fmt.Errorf("restore %s: %w", f.name, err)
	}
	f.files = append(f.files, RestoredFile{Key: f.row.Key, Path: f.shown(), Status: status, Bytes: size})
	return nil
}

func (f *filer) settle(size int64) (string, error) {
	same, exists, err := f.compare(size)
	if err != nil {
		return "", err
	}
	if same || exists && !f.Force {
		f.abandon()
		if same {
			return FileSame, nil
		}
		return FileDiffers, nil
	}
	if err := f.file.Close(); err != nil {
		return "", err
	}
	f.file = nil
	if f.mode&0o200 == 0 {
		if err := f.root.Chmod(f.temp, fs.FileMode(f.mode)); err != nil {
			return "", err
		}
	}
	if !f.when.IsZero() {
		if err := f.root.Chtimes(f.temp, f.when, f.when); err != nil {
			return "", err
		}
	}
	// RACE: a file that appears between the comparison and the rename is replaced. The
	// link refuses it where nothing was there before.
	if !exists {
		if err := f.root.Link(f.temp, f.name); err == nil {
			return FileWritten, f.root.Remove(f.temp)
		} else if errors.Is(err, fs.ErrExist) {
			return FileDiffers, f.root.Remove(f.temp)
		}
	}
	if err := f.root.Rename(f.temp, f.name); err != nil {
		return "", err
	}
	if exists {
		return FileReplaced, nil
	}
	return FileWritten, nil
}

// compare reads the file that stands at the name, if any, beside the one written.
func (f *filer) compare(size int64) (same, exists bool, err error) {
	info, err := f.root.Lstat(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if !info.Mode().IsRegular() {
		return false, true, fmt.Errorf("a %s is in the way", info.Mode().Type())
	}
	if info.Size() != size {
		return false, true, nil
	}
	old, err := f.root.Open(f.name)
	if err != nil {
		return false, true, err
	}
	defer old.Close()
	same, err = equalContent(io.NewSectionReader(f.file, 0, size), old)
	return same, true, err
}

func equalContent(a, b io.Reader) (bool, error) {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			ends := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			if ends(errA) && ends(errB) {
				return true, nil
			}
			return false, errors.Join(errA, errB)
		}
	}
}

// abandon removes an unfinished file.
func (f *filer) abandon() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
		_ = f.root.Remove(f.temp)
	}
}

// mapped applies the path maps. Claude keeps a session in a folder named after its
// working directory, so a mapped directory means another folder; the records keep
// what they say. The longest From that fits decides.
func mapped(at string, row *document.Row, maps []PathMap) string {
	if row.Driver != claudeDriver || row.Cwd == nil {
		return at
	}
	cwd, ok := mapDirectory(*row.Cwd, maps)
	if !ok {
		return at
	}
	parts := strings.SplitN(at, "/", 3)
	if len(parts) < 3 || parts[0] != "projects" {
		return at
	}
	return path.Join(parts[0], collect.ProjectKey(cwd), parts[2])
}

func mapDirectory(cwd string, maps []PathMap) (string, bool) {
	best, found := PathMap{}, false
	for _, m := range maps {
		below, ok := strings.CutPrefix(cwd, m.From)
		if ok && (below == "" || below[0] == '/' || strings.HasSuffix(m.From, "/")) && len(m.From) >= len(best.From) {
			best, found = m, true
		}
	}
	return best.To + strings.TrimPrefix(cwd, best.From), found
}

const claudeDriver = "claude-agent-sdk"
