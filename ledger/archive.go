package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"agentsync/ledger/durable"
)

// archive is the file of settled receipts, to which lines are only ever added. In memory
// are the commands it knows and where the last line of each lies.
type archive struct {
	disk     durable.FS
	path     string
	exists   bool  // or may exist
	end      int64 // bytes that the ledger relies on
	size     int64 // bytes that the file had when it was read
	index    map[string]span
	nameless []span // damaged lines of which nobody can tell whose receipt they held
	damaged  []span // these and the damaged ones of the index
}

// span is where a line lies.
type span struct {
	number int   // of the line, from 1; 0 for one that was not read but written
	offset int64 // bytes
	size   int64 // bytes, without its end
	broken bool
}

// appended is what became of an archive that was added to.
type appended struct {
	end   int64
	lines map[string]span
}

// openArchive reads which commands the archive knows. relied is how many of its bytes
// the ledger relies on, negative when it does not say; then it is all of them.
func openArchive(disk durable.FS, path string, relied int64) (archive, error) {
	a := archive{disk: disk, path: path, index: map[string]span{}}
	err := durable.CheckPrivate(disk, path)
	if err == nil {
		err = a.scan()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return archive{}, err
	}
	if a.end = relied; relied < 0 {
		a.end = a.size
	}
	a.nameless = spansBefore(a.nameless, a.end) // the ledger still has what stands behind that
	return a, nil
}

// scan reads every line: its command, its place, and whether it is whole.
func (a *archive) scan() error {
	file, err := a.disk.Open(a.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	a.exists, a.size = true, info.Size()
	a.index = make(map[string]span, a.size/averageLine)
	lines := newLineReader(io.NewSectionReader(file, 0, a.size), a.size)
	for lines.next() {
		a.take(lines)
	}
	if lines.err != nil {
		return fmt.Errorf("read %s: %w", a.path, lines.err)
	}
	return nil
}

// take notes one line.
func (a *archive) take(lines *lineReader) {
	at := span{number: lines.number, offset: lines.offset, size: int64(len(lines.text))}
	if at.size == 0 {
		return
	}
	if from, ok := parseLeftover(lines.text); ok {
		// What an interrupted write left from there on was never relied on.
		a.nameless = spansBefore(a.nameless, from)
		a.damaged = spansBefore(a.damaged, from)
		return
	}
	key, sum, body, ok := splitLine(lines.text)
	at.broken = !ok || body == nil || lineSum(lines.text, body) != sum
	if ok {
		a.index[key] = at
	} else {
		a.nameless = append(a.nameless, at)
	}
	if at.broken {
		a.damaged = append(a.damaged, at)
	}
}

func spansBefore(list []span, offset int64) []span {
	for len(list) > 0 && list[len(list)-1].offset >= offset {
		list = list[:len(list)-1]
	}
	return list
}

// damage says what of the part that the ledger relies on cannot be read.
func (a *archive) damage() []string {
	var notes []string
	if a.size < a.end {
		notes = append(notes, fmt.Sprintf("%s has %d bytes where %d were written: the commands of the missing receipts are not known any more", a.path, a.size, a.end))
	}
	more := 0
	for _, line := range a.damaged {
		switch {
		case line.offset >= a.end:
		case len(notes) == mostNotes:
			more++
		default:
			notes = append(notes, a.damagedLine(line).Error()+"; it is left as it is, and its command may be taken for a new one where its id cannot be read")
		}
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d more damaged lines", a.path, more))
	}
	return notes
}

// mostNotes is how many damaged lines are noted one by one.
const mostNotes = 20

// leftovers says what an interrupted write left behind the part that is relied on.
func (a *archive) leftovers() []string {
	for _, line := range a.damaged {
		if line.offset >= a.end {
			return []string{fmt.Sprintf("%s: line %d (byte %d) was left by an interrupted write; the ledger still has its receipts", a.path, line.number, line.offset)}
		}
	}
	return nil
}

func (a *archive) damagedLine(line span) *CorruptError {
	where := fmt.Sprintf("line at byte %d", line.offset)
	if line.number > 0 {
		where = fmt.Sprintf("line %d (byte %d)", line.number, line.offset)
	}
	return &CorruptError{Path: a.path, Field: where, Err: errDamagedLine}
}

var errDamagedLine = errors.New("it is not what was written")

// read returns the receipt of a line.
func (a *archive) read(line span) (Receipt, error) {
	file, err := a.disk.Open(a.path)
	if err != nil {
		return Receipt{}, err
	}
	defer file.Close()
	return a.readFrom(file, line)
}

func (a *archive) readFrom(file durable.File, line span) (Receipt, error) {
	text := make([]byte, line.size)
	if n, err := file.ReadAt(text, line.offset); n < len(text) {
		return Receipt{}, fmt.Errorf("read %s at byte %d: %w", a.path, line.offset, err)
	}
	receipt, ok := parseLine(text)
	if !ok {
		return Receipt{}, a.damagedLine(line)
	}
	return receipt, nil
}

// append adds the receipts of entries at the end, durably when it returns. The memory
// is as it was until they are adopted: before that the ledger does not rely on them.
func (a *archive) append(entries []*entry) (appended, error) {
	add := appended{lines: make(map[string]span, len(entries))}
	var text []byte
	size := int64(0)
	info, err := a.disk.Lstat(a.path)
	absent := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		size, err = info.Size(), durable.CheckPrivate(a.disk, a.path)
	}
	if err != nil && !absent {
		return appended{}, err
	}
	if size != a.end {
		text = append(text, '\n') // ends what may be half a line
	}
	if size > a.end {
		text = appendLeftover(text, a.end)
	}
	room := 0
	for _, one := range entries {
		room += len(one.text)
	}
	text = slices.Grow(text, room)
	for _, one := range entries {
		from := len(text)
		text = appendLine(text, one.receipt)
		add.lines[one.receipt.CommandID.Key()] = span{offset: size + int64(from), size: int64(len(text) - from - 1)}
	}
	a.exists, add.end = true, size+int64(len(text))
	if absent {
		return add, durable.Create(a.disk, a.path, text, privateFile)
	}
	return add, durable.Append(a.disk, a.path, text)
}

// adopt takes over what was appended.
func (a *archive) adopt(add appended) {
	a.end = add.end
	maps.Copy(a.index, add.lines)
}

// walk yields the receipts of lines in their order, and tells whether to go on.
func (a *archive) walk(lines []span, yield func(Receipt, error) bool) bool {
	if len(lines) == 0 {
		return true
	}
	file, err := a.disk.Open(a.path)
	if err != nil {
		return yield(Receipt{}, fmt.Errorf("read %d archived receipts: %w", len(lines), err))
	}
	defer file.Close()
	for _, line := range lines {
		if !yield(a.readFrom(file, line)) {
			return false
		}
	}
	return true
}
