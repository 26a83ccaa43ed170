package claude

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// pieceSize is the largest part of a side file that is one event, in bytes.
const pieceSize = 256 << 10

// sideFile is one file of a set.
type sideFile struct {
	path    string // relative to the set's folder, with slashes
	mode    uint32 // permission bits
	carried bool   // taken from the published copy
}

// sideFiles lists a set anew: its files by path, its stamp, and what could not be listed or
// was left out.
func (d *Driver) sideFiles(s session) ([]sideFile, collect.Stamp, scanResult, error) {
	seen := scanResult{base: d.file(s)}
	var files []sideFile
	var stamp sideStamp
	prefix := ""
	visit := func(path string, e entry, _ []entry) {
		if s.family != "" && isSubagent(path, s.family) {
			return
		}
		stamp.add(path, e)
		files = append(files, sideFile{path: path[len(prefix):], mode: uint32(e.mode.Perm())})
	}
	if s.family != "" {
		prefix = s.family + "/"
		seen.walk(d.folder(s), s.family, visit, nil)
	} else if err := seen.walkLoose(d.folder(s), visit); err != nil {
		return nil, collect.Stamp{}, seen, sessionError(s, "read", err)
	}
	slices.SortFunc(files, bySidePath)
	return files, stamp.stamp(), seen, nil
}

// walkLoose visits what a project folder holds beside sessions, as the listing does.
func (s *scanResult) walkLoose(dir string, visit func(path string, e entry, siblings []entry)) error {
	entries, failed, err := list(dir)
	if err != nil {
		return err
	}
	s.failAll(failed)
	for _, e := range entries {
		switch {
		case e.isDir() && !isUUID(e.name):
			s.walk(dir, e.name, visit, nil)
		case e.isRegular() && !strings.HasSuffix(e.name, ".jsonl"):
			visit(e.name, e, entries)
		case !e.isDir() && !e.isRegular():
			s.noteOdd(filepath.Join(dir, e.name), e)
		}
	}
	return nil
}

// fileSet is the history of a set of side files: their contents, piece by piece.
type fileSet struct {
	driver   *Driver
	session  session
	folder   string
	files    []sideFile    // still to be read
	count    int           // of all files
	stamp    collect.Stamp // as listed before the files were read, so that a later change shows
	problems []collect.Problem
	leftOut  []collect.Problem // what stands where files may have been
	from     collect.Published // the copy to take from what cannot be read, nil for none
	open     *lines.Reader     // the file being read, nil between files
	pieces   int               // of a carried file that were taken
	offset   int64             // in the open file
	at       collect.Position
	piece    []byte
	text     []byte
	ended    bool
}

var _ collect.Carrier = (*fileSet)(nil)

func (d *Driver) openFiles(s session) (*fileSet, error) {
	files, stamp, seen, err := d.sideFiles(s)
	if err != nil {
		return nil, err
	}
	return &fileSet{driver: d, session: s, folder: d.file(s), files: files, count: len(files), stamp: stamp,
		problems: seen.problems, leftOut: seen.notes}, nil
}

// Carry adds the files of the copy that lie where the set could not be listed, or where
// something is left out.
func (f *fileSet) Carry(from collect.Published) error {
	f.from = from
	if len(f.problems)+len(f.leftOut) == 0 {
		return nil
	}
	copied, err := from.Files()
	if err != nil {
		return sessionError(f.session, "carry over", err)
	}
	var carried []sideFile
	take := func(at string) (n int) {
		at, err := filepath.Rel(f.folder, at)
		if err != nil {
			return 0
		}
		for _, path := range copied {
			at := filepath.ToSlash(at)
			if path != at && at != "." && !strings.HasPrefix(path, at+"/") || f.lists(path) {
				continue
			}
			n++
			if !slices.ContainsFunc(carried, func(c sideFile) bool { return c.path == path }) {
				carried = append(carried, sideFile{path: path, carried: true})
			}
		}
		return n
	}
	for i := range f.problems {
		f.problems[i].Message += keptText(take(f.problems[i].Path))
	}
	for _, p := range f.leftOut {
		if n := take(p.Path); n > 0 {
			p.Message += keptText(n)
			f.problems = append(f.problems, p)
		}
	}
	f.files, f.count = append(f.files, carried...), f.count+len(carried)
	slices.SortFunc(f.files, bySidePath)
	return nil
}

func keptText(files int) string {
	switch files {
	case 0:
		return ""
	case 1:
		return "; 1 file stays as it was published"
	}
	return fmt.Sprintf("; %d files stay as they were published", files)
}

func bySidePath(a, b sideFile) int { return strings.Compare(a.path, b.path) }

func (f *fileSet) lists(path string) bool {
	_, found := slices.BinarySearchFunc(f.files, sideFile{path: path}, bySidePath)
	return found
}

// At counts the bytes of all files before the next piece.
func (f *fileSet) At() collect.Position { return f.at }

// Grown is false: side files are read anew each time.
func (f *fileSet) Grown() bool { return false }

// Next reads the next piece. The event's Offset is that of the piece in its own file.
func (f *fileSet) Next(tape *value.Tape) (collect.Event, error) {
	for f.open == nil {
		if len(f.files) == 0 {
			f.ended = true
			return collect.Event{}, io.EOF
		}
		if f.files[0].carried {
			switch taken, err := f.takePiece(); {
			case err != nil:
				return collect.Event{}, sessionError(f.session, "carry over", err)
			case taken:
				return f.event(tape)
			}
			f.files, f.pieces = f.files[1:], 0
			continue
		}
		if err := f.openNext(); err != nil {
			return collect.Event{}, err
		}
	}
	if err := f.readPiece(); err != nil {
		return collect.Event{}, sessionError(f.session, "read", err)
	}
	e, err := f.event(tape)
	if err == nil && f.offset == f.open.Stamp().Size {
		err = f.closeFile()
	}
	return e, err
}

// takePiece takes the next piece of a carried file from the copy, if there is one.
func (f *fileSet) takePiece() (bool, error) {
	if f.pieces == 0 {
		f.offset = 0
	}
	piece, err := f.from.Piece(f.files[0].path, f.pieces)
	if err != nil || piece == nil {
		return false, err
	}
	f.pieces++
	f.piece = append(f.piece[:0], piece...)
	return true, nil
}

// event is the piece that was read.
func (f *fileSet) event(tape *value.Tape) (collect.Event, error) {
	file, offset := f.files[0], f.offset
	f.text = appendFileRecord(f.text[:0], file.path, offset, f.piece)
	captured, err := tape.Capture(f.text)
	if err != nil {
		return collect.Event{}, sessionError(f.session, "read", err)
	}
	f.offset += int64(len(f.piece))
	f.at.Offset += int64(len(f.piece))
	f.at.Event++
	return collect.Event{Captured: captured, Raw: f.piece, Offset: offset,
		Text: &collect.FileText{Path: file.path, Mode: file.mode}}, nil
}

// openNext opens the next file. One that is gone by now was never there; one that cannot
// be read is a problem of its own.
func (f *fileSet) openNext() error {
	path := filepath.Join(f.folder, filepath.FromSlash(f.files[0].path))
	r, err := lines.Open(path, lines.Options{})
	if err == nil {
		f.open, f.offset = r, 0
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.files = f.files[1:]
		return nil
	}
	problem := collect.Problem{Code: collect.CodeUnreadable, Message: fmt.Sprintf("read %s: %v", path, reason(err)), Path: path}
	if copied, err := f.copied(); err != nil {
		return sessionError(f.session, "carry over", err)
	} else if slices.Contains(copied, f.files[0].path) {
		f.files[0].carried = true
		problem.Message += keptText(1)
	} else {
		f.files = f.files[1:]
	}
	f.problems = append(f.problems, problem)
	return nil
}

// copied are the files of the published copy, none where there is no copy.
func (f *fileSet) copied() ([]string, error) {
	if f.from == nil {
		return nil, nil
	}
	return f.from.Files()
}

func (f *fileSet) readPiece() error {
	want := min(pieceSize, f.open.Stamp().Size-f.offset)
	if int64(cap(f.piece)) < want {
		f.piece = make([]byte, want)
	}
	f.piece = f.piece[:want]
	n, err := f.open.ReadAt(f.piece, f.offset)
	if int64(n) == want {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return &collect.ChangedError{Path: f.path()}
	}
	return err
}

func (f *fileSet) path() string {
	return filepath.Join(f.folder, filepath.FromSlash(f.files[0].path))
}

// closeFile leaves a file that was read whole. It may have grown since: what was read is
// then its beginning.
func (f *fileSet) closeFile() error {
	rewritten, err := f.open.Rewritten()
	if err == nil && rewritten {
		err = &collect.ChangedError{Path: f.path()}
	}
	f.open.Close()
	f.open = nil
	f.files = f.files[1:]
	return err
}

// Finish says what was read.
func (f *fileSet) Finish() (collect.Trailer, error) {
	if !f.ended {
		return collect.Trailer{}, sessionError(f.session, "finish", errors.New("not read to its end"))
	}
	for i := range f.problems {
		f.problems[i].Session = f.session.id
	}
	return collect.Trailer{
		Summary:  f.driver.summarizeFiles(f.session, f.count, f.stamp),
		Complete: len(f.problems) == 0,
		Revision: strconv.FormatInt(roundMillis(f.stamp.ModTime), 10),
		Resume:   collect.Resume{Stamp: f.stamp, At: f.at},
		Problems: f.problems,
	}, nil
}

// Close gives an open file back.
func (f *fileSet) Close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}

// appendFileRecord appends the record that stands for a piece of a side file. A name that
// is not UTF-8 has its own bytes beside its text.
func appendFileRecord(dst []byte, path string, offset int64, piece []byte) []byte {
	sum := sha256.Sum256(piece)
	dst = append(dst, `{"agentsync":"file","path":`...)
	quoted, _ := json.Marshal(decodeUTF8([]byte(path))) // a string always has a JSON form
	dst = append(dst, quoted...)
	if !utf8.ValidString(path) {
		dst = append(dst, `,"pathBytes":"`...)
		dst = append(base64.RawURLEncoding.AppendEncode(dst, []byte(path)), '"')
	}
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, offset, 10)
	dst = append(dst, `,"bytes":`...)
	dst = strconv.AppendInt(dst, int64(len(piece)), 10)
	dst = append(dst, `,"sha256":"`...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, `"}`...)
}
