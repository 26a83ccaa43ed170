package publish

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"agentsync/chunk"
	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
)

// bench is what one worker keeps from session to session.
type bench struct {
	prepare hashgraph.Preparer
	encoder *chunk.Encoder
	library *library
	disk    durable.FS
	state   string // folder for what is remembered of long sessions, "" for none
	text    []byte // of the document being written
	frame   []byte
	events  []document.ChunkEvent
	tape    value.Tape // of one message
	rows    []byte     // texts of the open part's messages, one after the other
	ends    []int      // where each ends
	// parts whose frame is not full yet, and their documents one after the other
	held     []int
	heldText []byte
	heldEnds []int
}

// identity names the session being written.
type identity struct {
	causes   hashgraph.Causes
	key      string
	sourceID string
	driver   string
	nativeID string
}

// prior is the published copy of a session.
type prior struct {
	row      *document.Row
	manifest *document.Manifest
	table    document.Table
}

// writer publishes one session's documents as its preparation hands them over,
// reusing every document of the prior copy that did not change. It implements
// hashgraph.Sink.
type writer struct {
	*bench
	identity
	packer  *packer
	prior   *prior // nil for none
	doubts  bool   // what the prior copy has is read before it is taken over
	checked document.Link
	sound   bool // what lies at checked
	mended  int  // parts of the prior copy that are damaged

	chunks        []document.Descriptor
	table         document.Table
	fresh         int // documents written
	damagedBefore int // damaged events in the parts taken over
	digests       hashgraph.Messages
	recent        recentTexts
	seen          idSet
	recalled      int     // parts whose messages the recall file held
	growth        *growth // nil when the prior copy is known to be the beginning
}

func newWriter(b *bench, id identity, p *packer, before *prior) *writer {
	b.rows, b.ends = b.rows[:0], b.ends[:0]
	b.held, b.heldText, b.heldEnds = b.held[:0], b.heldText[:0], b.heldEnds[:0]
	return &writer{bench: b, identity: id, packer: p, prior: before}
}

// write compresses one document and adds it.
func (w *writer) write(id string, text []byte) (document.Link, error) {
	w.frame = w.encoder.Encode(w.frame[:0], text)
	w.fresh++
	return w.packer.add(id, w.frame, len(text))
}

// Part writes a chunk, unless the prior copy has the very same bytes at its place.
func (w *writer) Part(p *hashgraph.Part) error {
	w.events = w.events[:0]
	for _, e := range p.Events {
		w.events = append(w.events, document.ChunkEvent{Text: e.Text, Raw: e.Raw, Plain: e.Plain})
	}
	w.text = document.AppendChunk(w.text[:0], &document.Chunk{
		OwnerDID: w.causes.OwnerDID, Key: w.key, Part: p.Index, ContentHash: p.ContentHash, Events: w.events,
		Messages: w.messages(),
	})
	w.rows, w.ends = w.rows[:0], w.ends[:0]
	d := document.Descriptor{
		Part: p.Index, ByteLength: p.ByteLength, EventCount: len(p.Events), ContentHash: p.ContentHash,
		Start: p.Start, Messages: p.Messages, Damaged: w.damagedBefore + p.Damaged, Check: xxhash.Sum64(w.text),
	}
	w.chunks = append(w.chunks, d)
	if old := w.prior; old != nil && p.Index < len(old.manifest.Chunks) {
		was := old.manifest.Chunks[p.Index]
		same := was.ContentHash == d.ContentHash && was.Check == d.Check && was.ByteLength == d.ByteLength
		if w.growth != nil {
			if err := w.growth.take(p, same); err != nil {
				return err
			}
		}
		if same {
			sound, err := w.holds(old.table.Chunks[p.Index])
			if err != nil {
				return err
			}
			if sound {
				w.table.Chunks = append(w.table.Chunks, old.table.Chunks[p.Index])
				return nil
			}
			w.mended++
		}
	}
	if w.growth != nil && p.Index >= w.growth.old.Parts() {
		if err := w.growth.take(p, false); err != nil {
			return err
		}
	}
	w.table.Chunks = append(w.table.Chunks, document.Link{})
	return w.hold(p.Index)
}

// holds reports that a frame of the prior copy is sound. Parts that lie in one frame are
// asked for one after the other.
func (w *writer) holds(at document.Link) (bool, error) {
	if !w.doubts || w.checked == at {
		return !w.doubts || w.sound, nil
	}
	_, err := w.library.check(at)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return false, err
	}
	w.checked, w.sound = at, err == nil
	return w.sound, nil
}

// frameMost is how many bytes of chunk documents share a frame. One frame for several
// chunks of a session is a tenth smaller than one for each; whoever wants one of them
// unpacks the others too.
const frameMost = 2 << 20

// hold keeps the text of a part, which is new, until its frame is full. The last part
// of a session is still open and gets a frame of its own, so that an append writes
// that part only.
func (w *writer) hold(part int) error {
	if len(w.heldText)+len(w.text) > frameMost {
		if err := w.release(len(w.held)); err != nil {
			return err
		}
	}
	if len(w.held) > 0 {
		w.heldText = append(w.heldText, document.FrameBreak)
	}
	w.heldText = append(w.heldText, w.text...)
	w.held, w.heldEnds = append(w.held, part), append(w.heldEnds, len(w.heldText))
	return nil
}

// release writes the first n held parts as one frame, named by the first.
func (w *writer) release(n int) error {
	if n == 0 {
		return nil
	}
	first, end := w.held[0], w.heldEnds[n-1]
	id := hashgraph.CellID(w.causes.Chunk(w.sourceID, w.nativeID, first, w.chunks[first].ContentHash))
	link, err := w.write(id, w.heldText[:end])
	if err != nil {
		return fmt.Errorf("part %d: %w", first, err)
	}
	for _, part := range w.held[:n] {
		w.table.Chunks[part] = link
	}
	rest := bytes.TrimPrefix(w.heldText[end:], []byte{document.FrameBreak})
	w.heldText = append(w.heldText[:0], rest...)
	w.held = append(w.held[:0], w.held[n:]...)
	w.heldEnds = append(w.heldEnds[:0], w.heldEnds[n:]...)
	for i := range w.heldEnds {
		w.heldEnds[i] -= end + 1
	}
	return nil
}

// releaseAll writes what is held, an open last part apart from the others.
func (w *writer) releaseAll() error {
	n := len(w.held)
	if n > 1 && w.held[n-1] == len(w.chunks)-1 {
		if err := w.release(n - 1); err != nil {
			return err
		}
	}
	return w.release(len(w.held))
}

// Message takes one normalized message. Providers repeat ids (a copy after a
// compaction, a retry); a repeated one gets its event's index appended, so that ids
// are unique within a session and messages can be hashed one by one.
func (w *writer) Message(m *collect.Message) error {
	id := m.ID
	if w.seen.has(xxhash.Sum64String(id)) {
		id += "~" + strconv.Itoa(m.RawIndex)
	}
	from := len(w.rows)
	w.rows = appendMessage(w.rows, id, m)
	w.ends = append(w.ends, len(w.rows))
	w.tape.Reset()
	captured, err := w.tape.Capture(w.rows[from:])
	if err != nil {
		return fmt.Errorf("message of event %d: %w", m.RawIndex, err)
	}
	w.take(id, captured.Value)
	w.recent.add(w.rows[from:])
	return nil
}

// take adds a message to the session's hashes.
func (w *writer) take(id string, v value.Value) {
	w.seen.add(xxhash.Sum64String(id))
	w.digests.Add(w.prepare.Hasher(), id, v)
}

// messages returns the texts of the open part's messages.
func (w *writer) messages() [][]byte {
	texts := make([][]byte, len(w.ends))
	from := 0
	for i, end := range w.ends {
		texts[i], from = w.rows[from:end], end
	}
	return texts
}

// settled are the pages of the prior copy's chunk descriptors.
type settled struct {
	checks []uint64
	links  []document.Link
}

// settle writes the n-th page of a list, unless the prior copy has it.
func (w *writer) settle(text []byte, n int, before settled) (document.Link, error) {
	if n < len(before.checks) && before.checks[n] == xxhash.Sum64(text) {
		return before.links[n], nil
	}
	return w.write(digest.Sum(text).String(), text)
}

// appendMessage renders a normalized message, keys in canonical order.
func appendMessage(dst []byte, id string, m *collect.Message) []byte {
	dst = append(dst, `{"createdAt":`...)
	if m.CreatedAt == "" {
		dst = append(dst, "null"...)
	} else {
		dst = value.AppendString(dst, m.CreatedAt)
	}
	dst = value.AppendString(append(dst, `,"id":`...), id)
	dst = value.AppendString(append(dst, `,"kind":`...), m.Kind)
	if m.ParentID != "" {
		dst = value.AppendString(append(dst, `,"parentId":`...), m.ParentID)
	}
	dst = strconv.AppendInt(append(dst, `,"rawIndex":`...), int64(m.RawIndex), 10)
	dst = value.AppendString(append(dst, `,"role":`...), m.Role)
	dst = value.AppendString(append(dst, `,"textPreview":`...), m.Preview)
	return append(dst, '}')
}

// goOn starts the writer where the snapshot starts: it takes over the prior copy's
// parts before that place and the messages they hold. It returns the number of
// parts and messages taken over.
func (w *writer) goOn(at collect.Position) (parts, messages int, err error) {
	if at.Event == 0 || w.prior == nil {
		return 0, 0, nil
	}
	m := w.prior.manifest
	for parts < len(m.Chunks) && m.Chunks[parts].Start != at {
		parts++
	}
	if parts == len(m.Chunks) {
		return 0, 0, fmt.Errorf("session %s goes on at byte %d, where no part starts", w.key, at.Offset)
	}
	messages, w.damagedBefore = m.Chunks[parts].Messages, m.Chunks[parts].Damaged
	w.chunks = append(w.chunks, m.Chunks[:parts]...)
	w.table.Chunks = append(w.table.Chunks, w.prior.table.Chunks[:parts]...)
	w.recent.goOn(m, messages)
	return parts, messages, w.takeOver(parts)
}

// takeOver adds the messages of the prior copy's first n parts to the hashes. What is
// remembered of them is not read again.
func (w *writer) takeOver(n int) error {
	session := Session{Row: w.prior.row, Manifest: w.prior.manifest, table: w.prior.table, lib: w.library}
	for i := w.useRecall(w.remembered(), n); i < n; i++ {
		c, err := session.Part(i)
		if err != nil {
			return err
		}
		for _, v := range c.Normalized {
			w.take(v.Path("id").Str(), v)
		}
	}
	return nil
}
