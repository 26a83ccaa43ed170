package dirsync

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agentsync/hashgraph/digest"
)

const (
	manifestStart = `{"entries":[`
	manifestEnd   = `],"format":"fs-agent.files","version":1}`
)

const usualEntry = 140 // bytes of a file's entry with a short path

// MaxEntries is how many entries a manifest may have (cells spec 9.4).
const MaxEntries = 100_000

// EncodeManifest renders a tree as a dataset's manifest, the canonical JSON whose
// SHA-256 names it (cells spec 9.3). Blocked entries have no place in it. A link is an
// entry of our own, {kind,path,target}, which only a binding of portable links writes.
func EncodeManifest(t Tree) []byte {
	b := make([]byte, 0, len(t.Nodes)*160+64)
	return append(appendEntries(append(b, manifestStart...), t), manifestEnd...)
}

// ParseManifest reads a manifest. Only the canonical bytes are accepted: sorted, unique,
// every parent a directory listed before its children, one size for a hash.
func ParseManifest(text []byte) (Tree, error) {
	t, rest, err := parseEntries(string(text), manifestStart, true)
	if err != nil {
		return Tree{}, fmt.Errorf("manifest: %w", err)
	}
	if rest != manifestEnd {
		return Tree{}, errors.New("manifest: does not end as a files manifest of version 1")
	}
	return t, nil
}

func appendEntries(b []byte, t Tree) []byte {
	first := true
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind == Blocked || n.Kind == Absent {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendEntry(b, n)
	}
	return b
}

func appendEntry(b []byte, n *Node) []byte {
	switch n.Kind {
	case File:
		b = strconv.AppendBool(append(b, `{"executable":`...), n.Executable)
		b = hex.AppendEncode(append(b, `,"hash":"`...), n.Digest[:])
		b = AppendString(append(b, `","kind":"file","path":`...), n.Path)
		b = strconv.AppendInt(append(b, `,"size":"`...), n.Size, 10)
		return append(b, `"}`...)
	case Link:
		b = AppendString(append(b, `{"kind":"link","path":`...), n.Path)
		return append(AppendString(append(b, `,"target":`...), n.Target), '}')
	}
	return append(AppendString(append(b, `{"kind":"directory","path":`...), n.Path), '}')
}

// parseEntries reads what appendEntries wrote after start, and returns the rest from
// the closing bracket on. A strict list names every directory before what is in it.
func parseEntries(text, start string, strict bool) (t Tree, rest string, err error) {
	r := &entryReader{text: text, strict: strict, sizes: map[digest.Digest]int64{}, dirs: map[string]bool{}}
	r.take(start)
	t.Nodes = make([]Node, 0, min(len(text)/usualEntry, MaxEntries))
	for r.err == nil && !strings.HasPrefix(r.text, "]") {
		if len(t.Nodes) > 0 {
			r.take(",")
		}
		if strict && len(t.Nodes) == MaxEntries {
			return Tree{}, "", fmt.Errorf("more than %d entries", MaxEntries)
		}
		n := r.entry()
		if r.err == nil && len(t.Nodes) > 0 && t.Nodes[len(t.Nodes)-1].Path >= n.Path {
			r.err = fmt.Errorf("%.120q is out of order", n.Path)
		}
		t.Nodes = append(t.Nodes, n)
	}
	if r.err != nil {
		return Tree{}, "", r.err
	}
	return t, r.text, nil
}

// entryReader takes canonical entries apart: what is not spelled in the one way fails.
type entryReader struct {
	text   string // paths share its memory
	err    error
	strict bool
	sizes  map[digest.Digest]int64
	total  int64 // of all sizes
	dirs   map[string]bool
}

func (r *entryReader) take(literal string) {
	if r.err == nil && !r.try(literal) {
		r.err = fmt.Errorf("%q is missing before %.40q", literal, r.text)
	}
}

func (r *entryReader) try(literal string) (ok bool) {
	r.text, ok = strings.CutPrefix(r.text, literal)
	return ok
}

func (r *entryReader) entry() (n Node) {
	switch {
	case r.try(`{"executable":true,"hash":"`):
		n.Entry = Entry{Kind: File, Executable: true}
	case r.try(`{"executable":false,"hash":"`), r.try(`{"hash":"`):
		n.Entry = Entry{Kind: File}
	case r.try(`{"kind":"link","path":`):
		n.Kind = Link
	default:
		r.take(`{"kind":"directory","path":`)
		n.Kind = Directory
	}
	if n.Kind == File {
		r.hash(&n)
		r.take(`","kind":"file","path":`)
	}
	n.Path = r.str()
	switch n.Kind {
	case File:
		r.take(`,"size":"`)
		r.size(&n)
		r.take(`"`)
	case Link:
		r.take(`,"target":`)
		n.Target = r.str()
	}
	r.take("}")
	r.check(&n)
	return n
}

func (r *entryReader) hash(n *Node) {
	const digits = 2 * len(digest.Digest{})
	if r.err != nil || len(r.text) < digits {
		r.fail("a hash is cut off")
		return
	}
	for i := range n.Digest {
		high, low := lowerHex(r.text[2*i]), lowerHex(r.text[2*i+1])
		if high|low > 15 {
			r.fail("a hash is no lower-case SHA-256")
		}
		n.Digest[i] = high<<4 | low
	}
	r.text = r.text[digits:]
}

// lowerHex is a digit's value, more than 15 for what is none.
func lowerHex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

func (r *entryReader) size(n *Node) {
	end := strings.IndexByte(r.text, '"')
	if r.err != nil || end < 0 {
		r.fail("a size is cut off")
		return
	}
	size, err := strconv.ParseInt(r.text[:end], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != r.text[:end] {
		r.fail("a size is no decimal number")
	}
	n.Size, r.text = size, r.text[end:]
}

// str reads a string that AppendString wrote.
func (r *entryReader) str() string {
	end := 1
	for end < len(r.text) && r.text[end] != '"' {
		if r.text[end] == '\\' {
			end++
		}
		end++
	}
	if r.err != nil || end >= len(r.text) || r.text[0] != '"' {
		r.fail("a string is cut off")
		return ""
	}
	raw := r.text[:end+1]
	r.text = r.text[end+1:]
	if strings.IndexByte(raw, '\\') < 0 {
		if strings.IndexFunc(raw, func(c rune) bool { return c < 0x20 }) >= 0 {
			r.fail("a string is not in its canonical form")
		}
		return raw[1:end]
	}
	s, err := strconv.Unquote(raw)
	if err != nil || string(AppendString(nil, s)) != raw {
		r.fail("a string is not in its canonical form")
	}
	return s
}

func (r *entryReader) fail(what string) {
	if r.err == nil {
		r.err = errors.New(what)
	}
}

// check holds an entry against those before it.
func (r *entryReader) check(n *Node) {
	if r.err != nil {
		return
	}
	if err := CheckPath(n.Path); err != nil {
		r.err = fmt.Errorf("path %.120q %w", n.Path, err)
		return
	}
	if up := parent(n.Path); up != "" && r.strict && !r.dirs[up] {
		r.err = fmt.Errorf("%.120q is listed without its directory", n.Path)
		return
	}
	switch n.Kind {
	case Directory:
		r.dirs[n.Path] = true
	case File:
		if size, known := r.sizes[n.Digest]; known && size != n.Size {
			r.err = fmt.Errorf("%.120q gives its hash another size", n.Path)
		}
		r.sizes[n.Digest] = n.Size
		if r.total += n.Size; r.total < 0 {
			r.err = errors.New("its sizes add up to more than 63 bits hold")
		}
	}
}
