package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"unicode/utf8"

	"agentsync/collect/value"
)

// A line of the archive is
//
//	{"command":"<key>","sum":"<8 hex digits>","receipt":{…}}
//
// in just this form, so that whose receipt it is can be read without reading the
// receipt. The sum is the CRC-32C of the key's text, quotes included, and the receipt's.
// After an interrupted write comes a line {"leftover":<offset>}: what stands between
// that offset and the line was never relied on.
const (
	lineHead    = `{"command":`
	lineSumHead = `,"sum":"`
	lineBody    = `","receipt":`
	leftover    = `{"leftover":`
	sumDigits   = 8
	averageLine = 400 // bytes, to begin with about the right size of the index
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendLine(dst []byte, r Receipt) []byte {
	key := value.AppendString(nil, r.CommandID.Key())
	body := appendJSON(nil, r.Value(), "")
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, body)
	dst = append(append(dst, lineHead...), key...)
	dst = fmt.Appendf(append(dst, lineSumHead...), "%08x", sum)
	dst = append(append(dst, lineBody...), body...)
	return append(dst, "}\n"...)
}

func appendLeftover(dst []byte, offset int64) []byte {
	dst = strconv.AppendInt(append(dst, leftover...), offset, 10)
	return append(dst, "}\n"...)
}

func parseLeftover(line []byte) (offset int64, ok bool) {
	digits, ok := bytes.CutPrefix(line, []byte(leftover))
	if !ok {
		return 0, false
	}
	digits, closed := bytes.CutSuffix(digits, []byte("}"))
	offset, err := strconv.ParseInt(string(digits), 10, 64)
	return offset, closed && err == nil && offset >= 0
}

// splitLine takes a line apart without reading the receipt; ok is false when it cannot
// be told whose receipt it is.
func splitLine(line []byte) (key string, sum uint32, body []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(lineHead))
	if !ok {
		return "", 0, nil, false
	}
	end := stringEnd(rest)
	key, ok = unquote(rest[:end])
	if !ok || key == "" {
		return "", 0, nil, false
	}
	rest, ok = bytes.CutPrefix(rest[end:], []byte(lineSumHead))
	if !ok || len(rest) < sumDigits {
		return key, 0, nil, true // the sum will not match: the key is all there is
	}
	n, err := strconv.ParseUint(string(rest[:sumDigits]), 16, 32)
	rest, ok = bytes.CutPrefix(rest[sumDigits:], []byte(lineBody))
	rest, closed := bytes.CutSuffix(rest, []byte("}"))
	if err != nil || !ok || !closed {
		return key, 0, nil, true
	}
	return key, uint32(n), rest, true
}

// stringEnd returns the length of the JSON string that rest starts with, 0 for none.
func stringEnd(rest []byte) int {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func unquote(text []byte) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	if plain := text[1 : len(text)-1]; utf8.Valid(plain) && bytes.IndexFunc(plain, escaped) < 0 {
		return string(plain), true
	}
	captured, err := new(value.Tape).Capture(text)
	return captured.Value.Str(), err == nil && captured.Value.Kind() == value.String
}

func escaped(r rune) bool { return r == '\\' || r == '"' || r < ' ' }

// lineSum is the sum that a line with this body has to name.
func lineSum(line, body []byte) uint32 {
	rest := bytes.TrimPrefix(line, []byte(lineHead))
	return crc32.Update(crc32.Checksum(rest[:stringEnd(rest)], castagnoli), castagnoli, body)
}

// parseLine reads the receipt of a whole line.
func parseLine(line []byte) (Receipt, bool) {
	key, sum, body, ok := splitLine(line)
	if !ok || body == nil || lineSum(line, body) != sum {
		return Receipt{}, false
	}
	captured, err := new(value.Tape).Capture(body)
	if err != nil {
		return Receipt{}, false
	}
	r, err := ParseReceipt(captured.Value)
	return r, err == nil && r.CommandID.Key() == key
}

// lineReader reads lines of any length.
type lineReader struct {
	reader *bufio.Reader
	text   []byte // the line without its end, good until the next one
	number int    // from 1
	offset int64  // bytes
	after  int64  // where the next line begins
	long   []byte
	err    error
}

func newLineReader(r io.Reader, size int64) *lineReader {
	return &lineReader{reader: bufio.NewReaderSize(r, int(min(size, 1<<20)))}
}

// next reads a line; false after the last one, and then err may say why.
func (l *lineReader) next() bool {
	l.offset, l.long = l.after, l.long[:0]
	for {
		piece, err := l.reader.ReadSlice('\n')
		l.after += int64(len(piece))
		if errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, piece...)
			continue
		}
		if err != nil && err != io.EOF {
			l.err = err
			return false
		}
		l.text = piece
		if len(l.long) > 0 {
			l.long = append(l.long, piece...)
			l.text = l.long
		}
		if len(l.text) == 0 {
			return false
		}
		l.number++
		l.text = bytes.TrimSuffix(l.text, []byte("\n"))
		return true
	}
}
