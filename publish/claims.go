package publish

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
)

// claim is what this installation remembers of one row of its sources: the stamp
// its session had when the published copy was made. A claim counts only while that
// row is still the current one.
type claim struct {
	SourceID string
	NativeID string
	Cwd      string // of the row, for its Git context
	Status   string
	Place    document.Placement // of the row
	Stamp    collect.Stamp      // zero when the row cannot be claimed
	Prefix   uint64             // xxHash64 of the End bytes
	End      int64              // bytes of the session that were published
	Manifest digest.Digest
}

// claims is the retained-claims cache: one file that may be deleted at any time.
type claims struct {
	Root   digest.Digest // of the head whose index the claims were made for
	Rows   []claim
	Git    map[string]uint64 // fingerprint of each directory's published Git context
	Checks uint64            // fingerprint of sources and checkouts as published
}

const claimsMagic = "agentsync claims 2\n"

// encode renders the cache; a checksum ends it.
func (c *claims) encode() []byte {
	out := make([]byte, 0, len(claimsMagic)+64+128*len(c.Git)+256*len(c.Rows))
	out = append(append(out, claimsMagic...), c.Root[:]...)
	out = binary.LittleEndian.AppendUint64(out, c.Checks)
	out = binary.AppendUvarint(out, uint64(len(c.Git)))
	for _, dir := range sortedKeys(c.Git) {
		out = binary.LittleEndian.AppendUint64(appendText(out, dir), c.Git[dir])
	}
	out = binary.AppendUvarint(out, uint64(len(c.Rows)))
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, s := range []string{r.SourceID, r.NativeID, r.Cwd, r.Status, r.Place.Root, r.Place.Path, r.Place.Container} {
			out = appendText(out, s)
		}
		for _, n := range []uint64{r.Stamp.Device, r.Stamp.Inode, uint64(r.Stamp.Size), uint64(r.Stamp.ModTime),
			uint64(r.Stamp.ChangeTime), r.Stamp.Side, r.Prefix, uint64(r.End)} {
			out = binary.LittleEndian.AppendUint64(out, n)
		}
		out = append(out, r.Manifest[:]...)
	}
	return binary.LittleEndian.AppendUint64(out, xxhash.Sum64(out))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeClaims reads a cache; one that is damaged or of another version is an error,
// and then there are no claims.
func decodeClaims(file []byte) (*claims, error) {
	body, ok := bytes.CutPrefix(file, []byte(claimsMagic))
	if !ok || len(body) < 56 {
		return nil, fmt.Errorf("claims cache: not of this version")
	}
	end := len(file) - 8
	if binary.LittleEndian.Uint64(file[end:]) != xxhash.Sum64(file[:end]) {
		return nil, fmt.Errorf("claims cache: checksum differs")
	}
	in := cursor{rest: file[len(claimsMagic):end]}
	c := &claims{Git: map[string]uint64{}}
	copy(c.Root[:], in.take(32))
	c.Checks = in.fixed()
	for n := in.count(); n > 0 && !in.short; n-- {
		dir := in.text()
		c.Git[dir] = in.fixed()
	}
	n := in.count()
	c.Rows = make([]claim, 0, min(n, len(in.rest)/100+1))
	for ; n > 0 && !in.short; n-- {
		r := claim{SourceID: in.text(), NativeID: in.text(), Cwd: in.text(), Status: in.text(),
			Place: document.Placement{Root: in.text(), Path: in.text(), Container: in.text()}}
		r.Stamp = collect.Stamp{Device: in.fixed(), Inode: in.fixed(), Size: int64(in.fixed()),
			ModTime: int64(in.fixed()), ChangeTime: int64(in.fixed()), Side: in.fixed()}
		r.Prefix, r.End = in.fixed(), int64(in.fixed())
		copy(r.Manifest[:], in.take(32))
		c.Rows = append(c.Rows, r)
	}
	if in.short {
		return nil, fmt.Errorf("claims cache: ends early")
	}
	return c, nil
}

// cursor takes fields off the front of a buffer and notes when it runs short.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.short, c.rest = true, nil
		return nil
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) fixed() uint64 {
	b := c.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (c *cursor) count() int {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 || n > uint64(len(c.rest)) {
		c.short = true
		return 0
	}
	c.rest = c.rest[size:]
	return int(n)
}

func (c *cursor) text() string { return string(c.take(c.count())) }
