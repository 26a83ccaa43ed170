package publish

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect"
	"agentsync/hashgraph"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
)

// An append to a session hashes its new messages only: the digests of those in the
// parts before are remembered in the state folder. The hashes that come out are those
// of the whole list, and without the file the parts are read again.
const (
	recallStep  = 2 // parts that may be missing from the file before it is written anew
	recallMagic = "agentsync recall 1\n"
)

// recall is what is remembered of the messages in a session's first parts.
type recall struct {
	parts   int
	print   uint64 // fingerprint of those parts
	ids     []uint64
	digests hashgraph.Messages
}

const recallPrefix = "messages-"

func recallName(key string) string {
	return fmt.Sprintf("%s%016x", recallPrefix, xxhash.Sum64String(key))
}

// Recall files serve sessions that still grow: one that did not for recallAge, and the
// oldest of those that together have more than recallMost bytes, cost a reading if they
// grow after all.
const (
	recallAge  = 30 * 24 * time.Hour
	recallMost = 256 << 20
)

// recallFile is a recall file in the state folder.
type recallFile struct {
	name string
	size int64
	at   time.Time // of its writing
}

// unneeded picks the recall files to remove: those of no session in live, by name, the old
// ones and those that are too much.
func unneeded(files []recallFile, live map[string]bool, now time.Time) []string {
	slices.SortFunc(files, func(a, b recallFile) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name))
	})
	var out []string
	total := int64(0)
	for _, f := range files {
		if !live[f.name] || now.Sub(f.at) > recallAge || total+f.size > recallMost {
			out = append(out, f.name)
		} else {
			total += f.size
		}
	}
	return out
}

// sweepRecalls removes the recall files that are not needed. What it cannot list or remove
// stays for the next pass.
func (w *work) sweepRecalls() {
	if w.State == "" {
		return
	}
	entries, _ := w.FS.ReadDir(w.State)
	var files []recallFile
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), recallPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, recallFile{e.Name(), info.Size(), info.ModTime()})
		}
	}
	if len(files) == 0 {
		return
	}
	live := map[string]bool{}
	for _, source := range w.claims.bySource {
		for _, c := range source {
			if key, err := collect.SessionKey(c.SourceID, c.NativeID); err == nil && c.Status != document.StatusDeleted {
				live[recallName(key)] = true
			}
		}
	}
	for _, name := range unneeded(files, live, w.Now) {
		_ = w.FS.Remove(filepath.Join(w.State, name))
	}
}

// partsPrint fingerprints parts, the messages in them included.
func partsPrint(parts []document.Descriptor) uint64 {
	var d xxhash.Digest
	d.Reset()
	for i := range parts {
		_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, parts[i].Check))
	}
	return d.Sum64()
}

func (r *recall) encode() []byte {
	out := make([]byte, 0, len(recallMagic)+24+len(r.ids)*104+64)
	out = append(out, recallMagic...)
	for _, n := range []uint64{uint64(r.parts), r.print, uint64(len(r.ids))} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	for _, id := range r.ids {
		out = binary.LittleEndian.AppendUint64(out, id)
	}
	return r.digests.Export(out)
}

var errRecall = errors.New("not a recall file")

func decodeRecall(file []byte) (*recall, error) {
	rest, ok := bytes.CutPrefix(file, []byte(recallMagic))
	if !ok || len(rest) < 24 {
		return nil, errRecall
	}
	r := &recall{parts: int(binary.LittleEndian.Uint64(rest)), print: binary.LittleEndian.Uint64(rest[8:])}
	n := binary.LittleEndian.Uint64(rest[16:])
	if rest = rest[24:]; n > uint64(len(rest))/8 {
		return nil, errRecall
	}
	r.ids = make([]uint64, n)
	for i := range r.ids {
		r.ids[i] = binary.LittleEndian.Uint64(rest[8*i:])
	}
	if err := r.digests.Import(rest[8*n:]); err != nil {
		return nil, err
	}
	if r.digests.Len() != len(r.ids) {
		return nil, errRecall
	}
	return r, nil
}

// remembered loads what is known of the messages in a session's first parts, or nil.
// It counts only for parts that the prior copy still has.
func (w *writer) remembered() *recall {
	if w.state == "" {
		return nil
	}
	file, err := durable.ReadFile(w.disk, filepath.Join(w.state, recallName(w.key)), 1<<32)
	if err != nil {
		return nil
	}
	r, err := decodeRecall(file)
	if err != nil {
		return nil
	}
	chunks := w.prior.manifest.Chunks
	if r.parts < 0 || r.parts >= len(chunks) || partsPrint(chunks[:r.parts]) != r.print || chunks[r.parts].Messages != len(r.ids) {
		return nil
	}
	return r
}

// useRecall takes over the messages of at most n parts from r, and returns of how many.
func (w *writer) useRecall(r *recall, n int) int {
	if r == nil || r.parts > n {
		return 0
	}
	w.recalled, w.digests, w.seen.old = r.parts, r.digests, r.ids
	return r.parts
}

// keepRecall remembers the messages of all parts but the last when the file lacks
// some. What goes wrong costs the next append a reading.
func (w *writer) keepRecall() {
	n := len(w.chunks) - 1
	if w.state == "" || n < 1 || n-w.recalled < recallStep && w.recalled > 0 {
		return
	}
	count := w.chunks[n].Messages
	r := recall{parts: n, print: partsPrint(w.chunks[:n]), ids: w.seen.first(count), digests: w.digests.Head(count)}
	_ = durable.Replace(w.disk, filepath.Join(w.state, recallName(w.key)), r.encode(), 0o600, false)
}

// idSet holds fingerprints of message ids in the order of the messages.
type idSet struct {
	old   []uint64 // recalled, looked up by scanning while that is cheaper than a map
	order []uint64 // added since
	known map[uint64]struct{}
	scans int
}

// scansMost is how many look-ups scan the recalled ids before they are put in a map.
const scansMost = 64

// has reports an id that was added before.
func (s *idSet) has(id uint64) bool {
	if _, ok := s.known[id]; ok {
		return true
	}
	if len(s.old) == 0 {
		return false
	}
	if s.scans++; s.scans <= scansMost {
		return slices.Contains(s.old, id)
	}
	for _, one := range s.old {
		s.known[one] = struct{}{}
	}
	s.order, s.old = append(s.old, s.order...), nil
	_, ok := s.known[id]
	return ok
}

func (s *idSet) add(id uint64) {
	if s.known == nil {
		s.known = map[uint64]struct{}{}
	}
	s.known[id] = struct{}{}
	s.order = append(s.order, id)
}

// first returns the ids of the first n messages.
func (s *idSet) first(n int) []uint64 { return append(slices.Clone(s.old), s.order...)[:n] }
