package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	transcript "agentsync/collect/lines"
	"agentsync/collect/value"
)

// standing opens the file that stands at the name, or the same file compressed; nil
// when there is none.
func (f *filer) standing() (io.ReadCloser, error) {
	if f.root == nil {
		return nil, nil
	}
	info, err := f.root.Lstat(f.now.name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.compressed()
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("something else than a file is in the way (%s)", strings.TrimSpace(info.Mode().Type().String()))
	}
	return f.root.Open(f.now.name)
}

const zstdSuffix = ".zst"

// compressed opens the file that an agent has compressed since: it stands for the plain
// one, so that none is written beside it.
func (f *filer) compressed() (io.ReadCloser, error) {
	if !f.zstd {
		return nil, nil
	}
	if info, err := f.root.Lstat(f.now.name + zstdSuffix); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	r, err := transcript.Open(f.now.Path+zstdSuffix, transcript.Options{Zstd: true})
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

// compare reads the file that stands at the open one's name, if any, beside what was
// written.
func (f *filer) compare(written io.ReaderAt, size int64) (same, exists bool, err error) {
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
	same, err = equalContent(io.NewSectionReader(written, 0, size), old)
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

// trial compares what would be written with the file that stands there.
type trial struct {
	old     io.ReadCloser
	err     error
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
