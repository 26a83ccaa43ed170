package publish

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"

	"agentsync/hashgraph"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
)

// An append to a long session hashes its new messages only: the digests of the
// settled ones are remembered in the state folder. The hashes that come out are
// those of the whole list, and without the file the messages are read again.
const (
	recallFrom  = 4096 // messages; a shorter list is read again in a few milliseconds
	recallStep  = 2048 // messages that may be missing from the file before it is written anew
	recallMagic = "agentsync recall 1\n"
)

// recall is what is remembered of the first messages of a session: whole pages.
type recall struct {
	pages   uint64 // fingerprint of the fingerprints of those pages
	ids     []uint64
	digests hashgraph.Messages
}

func recallName(key string) string { return fmt.Sprintf("messages-%016x", xxhash.Sum64String(key)) }

// pagesPrint fingerprints the first pages of a list.
func pagesPrint(checks []uint64) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, c := range checks {
		_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, c))
	}
	return d.Sum64()
}

func (r *recall) encode() []byte {
	out := make([]byte, 0, len(recallMagic)+16+len(r.ids)*104+64)
	out = append(out, recallMagic...)
	out = binary.LittleEndian.AppendUint64(out, r.pages)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(r.ids)))
	for _, id := range r.ids {
		out = binary.LittleEndian.AppendUint64(out, id)
	}
	return r.digests.Export(out)
}

var errRecall = errors.New("not a recall file")

func decodeRecall(file []byte) (*recall, error) {
	head := len(recallMagic) + 16
	if len(file) < head || string(file[:len(recallMagic)]) != recallMagic {
		return nil, errRecall
	}
	r := &recall{pages: binary.LittleEndian.Uint64(file[len(recallMagic):])}
	n := binary.LittleEndian.Uint64(file[len(recallMagic)+8:])
	if n > uint64(len(file)-head)/8 {
		return nil, errRecall
	}
	r.ids = make([]uint64, n)
	for i := range r.ids {
		r.ids[i] = binary.LittleEndian.Uint64(file[head+8*i:])
	}
	if err := r.digests.Import(file[head+8*int(n):]); err != nil {
		return nil, err
	}
	if r.digests.Len() != len(r.ids) || len(r.ids)%document.PageRows != 0 {
		return nil, errRecall
	}
	return r, nil
}

// remembered loads what is known of a session's first messages, or nil. It counts
// only for the pages that the prior copy still has.
func (w *writer) remembered() *recall {
	if w.state == "" || len(w.prior.manifest.MessagePages)*document.PageRows < recallFrom {
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
	n := len(r.ids) / document.PageRows
	if n > len(w.prior.manifest.MessagePages) || pagesPrint(w.prior.manifest.MessagePages[:n]) != r.pages {
		return nil
	}
	return r
}

// useRecall takes over the first whole pages below n messages from r, and returns
// how many messages they are.
func (w *writer) useRecall(r *recall, n int) int {
	if r == nil {
		return 0
	}
	pages := min(len(r.ids), n) / document.PageRows
	took := pages * document.PageRows
	w.recalled = len(r.ids)
	w.digests = r.digests
	w.digests.Truncate(took)
	w.seen.old = r.ids[:took]
	w.pages = slices.Clone(w.prior.manifest.MessagePages[:pages])
	w.table.MessagePages = slices.Clone(w.prior.table.MessagePages[:pages])
	return took
}

// keepRecall remembers the settled messages when the file lacks many of them. What
// goes wrong costs the next append a reading.
func (w *writer) keepRecall() {
	settled := len(w.pages) * document.PageRows
	if w.state == "" || settled < recallFrom || settled-w.recalled < recallStep && settled >= w.recalled {
		return
	}
	r := recall{pages: pagesPrint(w.pages), ids: w.seen.first(settled), digests: w.digests.Head(settled)}
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
