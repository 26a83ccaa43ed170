package publish

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	transcript "agentsync/collect/lines"
	"agentsync/collect/value"
	"agentsync/publish/document"
)

// filer writes one file at a time below a root; of a dry run it only compares.
type filer struct {
	*restorer
	root   *os.Root // nil in a dry run for a folder that is not there
	folder string
	row    *document.Row
	when   time.Time
	zstd   bool // the agent may keep the file compressed, under the same name and one more suffix
	name   string
	mode   uint32
	temp   string
	opened bool
	file   *os.File // nil in a dry run
	trial  *trial   // of a dry run
	out    *bufio.Writer
}

const tempSuffix = ".agentsync-restore"

// open makes name the file that is written; the one before is finished.
func (f *filer) open(name string, mode uint32) error {
	if f.opened && f.name == name {
		return nil
	}
	if err := f.close(); err != nil {
		return err
	}
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("stored path %.200q is no path below a folder", name)
	}
	f.name, f.mode, f.temp = name, mode, name+tempSuffix
	if err := f.taken.claim(f.shown(), f.row.Key); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	if err := f.begin(); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	f.opened = true
	return nil
}

// begin opens what the bytes go to.
func (f *filer) begin() error {
	if err := f.checkParents(); err != nil {
		return err
	}
	if f.DryRun {
		f.trial = f.newTrial()
		f.writeTo(f.trial)
		return nil
	}
	if err := f.root.MkdirAll(path.Dir(f.name), 0o700); err != nil {
		return err
	}
	_ = f.root.Remove(f.temp) // left by a restore that was killed
	file, err := f.root.OpenFile(f.temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, fs.FileMode(f.mode)|0o200)
	if err != nil {
		return err
	}
	f.file = file
	f.writeTo(file)
	return nil
}

func (f *filer) writeTo(w io.Writer) {
	if f.out == nil {
		f.out = bufio.NewWriterSize(w, 256<<10)
		return
	}
	f.out.Reset(w)
}

// checkParents refuses a folder on the way that is a link, even one that stays below
// the root: what is restored lies where it says.
// RACE: a folder can be replaced by a link after this look; the root then still keeps
// every write below itself.
func (f *filer) checkParents() error {
	if f.root == nil {
		return nil
	}
	for i := range len(f.name) {
		if f.name[i] != '/' {
			continue
		}
		info, err := f.root.Lstat(f.name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is a link or a file, and no folder", filepath.Join(f.folder, filepath.FromSlash(f.name[:i])))
		}
	}
	return nil
}

func (f *filer) shown() string { return filepath.Join(f.folder, filepath.FromSlash(f.name)) }

// close finishes the open file: it is moved to its name unless an equal file is
// there, or a different one that may not be replaced.
func (f *filer) close() error {
	if !f.opened {
		return nil
	}
	f.opened = false
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("restore %s: %w", f.name, err)
	}
	status, size, err := f.settle()
	if err != nil {
		f.abandon()
		return fmt.Errorf("restore %s: %w", f.name, err)
	}
	f.files = append(f.files, RestoredFile{Key: f.row.Key, Path: f.shown(), Status: status, Bytes: size})
	return nil
}

func (f *filer) settle() (status string, size int64, err error) {
	if f.DryRun {
		defer f.trial.close()
		status, err = f.trial.status(f.Force)
		return status, f.trial.size, err
	}
	if size, err = f.file.Seek(0, io.SeekCurrent); err != nil {
		return "", 0, err
	}
	same, exists, err := f.compare(size)
	if err != nil {
		return "", 0, err
	}
	switch {
	case same:
		f.abandon()
		return FileSame, size, nil
	case exists && !f.Force:
		f.abandon()
		return FileDiffers, size, nil
	}
	status, err = f.move(exists)
	return status, size, err
}

// move gives the finished file its mode, its time and its name.
func (f *filer) move(exists bool) (string, error) {
	err := f.file.Close()
	f.file = nil
	if err == nil && f.mode&0o200 == 0 {
		err = f.root.Chmod(f.temp, fs.FileMode(f.mode))
	}
	if err == nil && !f.when.IsZero() {
		err = f.root.Chtimes(f.temp, f.when, f.when)
	}
	if err != nil {
		_ = f.root.Remove(f.temp)
		return "", err
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
		_ = f.root.Remove(f.temp)
		return "", err
	}
	if exists {
		return FileReplaced, nil
	}
	return FileWritten, nil
}

// standing opens the file that stands at the name, or the same file compressed; nil
// when there is none.
func (f *filer) standing() (io.ReadCloser, error) {
	if f.root == nil {
		return nil, nil
	}
	info, err := f.root.Lstat(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.compressed()
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("something else than a file is in the way (%s)", strings.TrimSpace(info.Mode().Type().String()))
	}
	return f.root.Open(f.name)
}

const zstdSuffix = ".zst"

// compressed opens the file that an agent has compressed since: it stands for the plain
// one, so that none is written beside it.
func (f *filer) compressed() (io.ReadCloser, error) {
	if !f.zstd {
		return nil, nil
	}
	if info, err := f.root.Lstat(f.name + zstdSuffix); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	r, err := transcript.Open(f.shown()+zstdSuffix, transcript.Options{Zstd: true})
	if err != nil {
		return nil, err
	}
	return &lineReader{Reader: r}, nil
}

// lineReader gives the bytes of a transcript that is read line by line.
type lineReader struct {
	*transcript.Reader
	tape value.Tape
	rest []byte
}

// Read gives bytes of one line at most.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		r.tape.Reset()
		e, err := r.Next(&r.tape)
		if err != nil {
			return 0, err
		}
		r.rest = e.Raw
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// compare reads the file that stands at the name, if any, beside the one written.
func (f *filer) compare(size int64) (same, exists bool, err error) {
	old, err := f.standing()
	if old == nil || err != nil {
		return false, false, err
	}
	defer old.Close()
	if plain, ok := old.(*os.File); ok {
		if info, err := plain.Stat(); err != nil || info.Size() != size {
			return false, true, err
		}
	}
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
			if isEnd(errA) && isEnd(errB) {
				return true, nil
			}
			return false, errors.Join(errA, errB)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// abandon removes an unfinished file.
func (f *filer) abandon() {
	if f.trial != nil {
		f.trial.close()
	}
	if f.file != nil {
		f.file.Close()
		f.file = nil
		_ = f.root.Remove(f.temp)
	}
}

// trial compares what would be written with the file that stands there.
type trial struct {
	old     io.ReadCloser
	err     error
	size    int64
	differs bool
	buf     []byte
}

func (f *filer) newTrial() *trial {
	t := &trial{}
	t.old, t.err = f.standing()
	return t
}

// Write compares p with the standing file's next bytes.
func (t *trial) Write(p []byte) (int, error) {
	t.size += int64(len(p))
	if t.old == nil || t.differs || t.err != nil {
		return len(p), nil
	}
	if len(t.buf) < len(p) {
		t.buf = make([]byte, len(p))
	}
	n, err := io.ReadFull(t.old, t.buf[:len(p)])
	if err != nil && !isEnd(err) {
		t.err = err
	}
	t.differs = !bytes.Equal(t.buf[:n], p)
	return len(p), nil
}

func (t *trial) status(force bool) (string, error) {
	switch {
	case t.err != nil:
		return "", t.err
	case t.old == nil:
		return FileWouldBe, nil
	}
	if !t.differs {
		n, err := io.ReadFull(t.old, make([]byte, 1))
		if n == 0 && isEnd(err) {
			return FileSame, nil
		}
		if err != nil {
			return "", err
		}
	}
	if force {
		return FileWouldHide, nil
	}
	return FileDiffers, nil
}

func (t *trial) close() {
	if t.old != nil {
		t.old.Close()
		t.old = nil
	}
}
