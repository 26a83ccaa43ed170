package tree

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"

	"agentsync/hashgraph/digest"
)

// Stamp is what a file system tells of a file, and the digest its content had.
type Stamp struct {
	Device, Inode uint64
	Size          int64
	ModTime       int64 // nanoseconds since 1970 UTC
	ChangeTime    int64 // of the inode, the same; 0 where it is not known
	Digest        digest.Digest
}

// SameFile reports that nothing speaks for another content.
func (s Stamp) SameFile(o Stamp) bool {
	s.Digest, o.Digest = digest.Digest{}, digest.Digest{}
	return s == o
}

// Index is the files of the last scan by their path on disk. It is a cache: without it
// every file is read again.
type Index map[string]Stamp

const indexMagic = "agentsync scan 1\n"

// Encode renders the index, with a checksum at its end.
func (x Index) Encode() []byte {
	b := make([]byte, 0, len(x)*96+64)
	b = append(b, indexMagic...)
	b = binary.AppendUvarint(b, uint64(len(x)))
	for _, path := range slices.Sorted(maps.Keys(x)) {
		s := x[path]
		b = append(binary.AppendUvarint(b, uint64(len(path))), path...)
		b = binary.AppendUvarint(binary.AppendUvarint(b, s.Device), s.Inode)
		b = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, s.Size), s.ModTime), s.ChangeTime)
		b = append(b, s.Digest[:]...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

var errIndex = errors.New("not an index of a scan")

// ParseIndex reads what Encode wrote.
func ParseIndex(b []byte) (Index, error) {
	const tail = 4
	if len(b) < len(indexMagic)+tail || string(b[:len(indexMagic)]) != indexMagic ||
		binary.BigEndian.Uint32(b[len(b)-tail:]) != crc32.ChecksumIEEE(b[:len(b)-tail]) {
		return nil, errIndex
	}
	r := indexReader{b: b[len(indexMagic) : len(b)-tail]}
	n := r.uint()
	if n > uint64(len(r.b)) {
		return nil, errIndex
	}
	x := make(Index, n)
	text := string(b[:len(b)-tail])
	for range n {
		path := r.path(text)
		s := Stamp{Device: r.uint(), Inode: r.uint(), Size: r.int(), ModTime: r.int(), ChangeTime: r.int()}
		r.digest(&s.Digest)
		x[path] = s
	}
	if r.bad || len(r.b) != 0 {
		return nil, errIndex
	}
	return x, nil
}

type indexReader struct {
	b   []byte
	bad bool
}

func (r *indexReader) skip(n int) {
	if n <= 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *indexReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *indexReader) int() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

// path takes the path out of text, the whole index as a string, whose memory it shares.
func (r *indexReader) path(text string) string {
	n := r.uint()
	if r.bad || n == 0 || n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	start := len(text) - len(r.b)
	r.skip(int(n))
	return text[start : start+int(n)]
}

func (r *indexReader) digest(d *digest.Digest) {
	if len(r.b) < len(d) {
		r.bad, r.b = true, nil
		return
	}
	copy(d[:], r.b)
	r.b = r.b[len(d):]
}
