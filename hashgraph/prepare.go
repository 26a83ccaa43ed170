package hashgraph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"agentsync/chunk"
	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// PartEvent is one event of a finished part.
type PartEvent struct {
	Text  []byte // what stands in the chunk's event list
	Raw   []byte // the record's own bytes, line end included
	Plain bool   // Raw is Text and a newline
}

// Part is one finished chunk. Its memory is good until the sink returns.
type Part struct {
	Index       int
	Events      []PartEvent
	ByteLength  int64 // of the fvj1 text of the event list
	ContentHash digest.Digest
	Start       collect.Position // of its first event
	Messages    int              // normalized messages before it
	Damaged     int              // damaged events before it, counted from the snapshot's start
}

// Sink takes what a preparation makes, in order: the messages of a part come
// before the part.
type Sink interface {
	Message(*collect.Message) error
	Part(*Part) error
}

// Prepared counts what one preparation handed to its sink.
type Prepared struct {
	Trailer  collect.Trailer
	Parts    int // all parts of the session, those before the start included
	Events   int // all events
	Messages int // all messages
	Damaged  int // events of this preparation that are not one sound line, blank ones aside
	Bytes    int64
}

// Preparer turns snapshots into parts. It keeps its buffers from one session to
// the next and serves one goroutine; its memory is that of one part.
type Preparer struct {
	Target int // bytes of JSON a part; 0 is chunk.DefaultTarget
	tape   value.Tape
	hasher Hasher
	raws   []byte
	events []pending
	values []value.Value
	out    []PartEvent
}

// pending is an event of the open part; its raw bytes are kept only when its text
// does not give them back.
type pending struct {
	text     []byte
	from, to int // in raws, both 0 for a plain event
	plain    bool
}

// Hasher returns the preparer's own hasher, for use between preparations.
func (p *Preparer) Hasher() *Hasher { return &p.hasher }

// Run reads the snapshot to its end. firstPart and messages are what stands before
// the snapshot's start. The snapshot is not closed. An error of the snapshot or the
// sink ends the run; nothing the sink got may then be used.
func (p *Preparer) Run(ctx context.Context, snap collect.Snapshot, firstPart, messages int, sink Sink) (Prepared, error) {
	r := run{Preparer: p, sink: sink, start: snap.At(), before: messages}
	r.split, r.kept = chunk.NewSplitter(p.Target), p.Target
	if r.kept <= 0 {
		r.kept = chunk.DefaultTarget
	}
	r.got = Prepared{Parts: firstPart, Messages: messages, Events: snap.At().Event}
	p.reset()
	for {
		if err := ctx.Err(); err != nil {
			return r.got, err
		}
		err := r.next(snap)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r.got, err
		}
	}
	if len(p.events) > 0 || r.got.Parts == firstPart && firstPart == 0 {
		if err := r.cut(); err != nil {
			return r.got, err
		}
	}
	trailer, err := snap.Finish()
	r.got.Trailer = trailer
	return r.got, err
}

func (p *Preparer) reset() {
	p.tape.Reset()
	p.raws, p.events, p.values = p.raws[:0], p.events[:0], p.values[:0]
}

type run struct {
	*Preparer
	sink    Sink
	split   *chunk.Splitter
	kept    int              // most bytes kept beside the events of one part
	start   collect.Position // of the open part
	before  int              // messages before the open part
	damaged int              // damaged events before the open part
	got     Prepared
}

// next takes one event. An event that does not fit closes the open part first; it
// already lies on the tape then, so its part begins on a tape that it alone kept.
func (r *run) next(snap collect.Snapshot) error {
	at := snap.At()
	event, err := snap.Next(&r.tape)
	if err != nil {
		return err
	}
	plain := spelled(event)
	if r.starts(event, plain) {
		if event, err = r.carry(at, event); err != nil {
			return err
		}
	}
	r.add(event, plain)
	r.got.Events++
	r.got.Bytes += int64(len(event.Raw))
	if event.Damage != collect.Sound && event.Damage != collect.Blank {
		r.got.Damaged++
	}
	if event.Message == nil {
		return nil
	}
	r.got.Messages++
	return r.sink.Message(event.Message)
}

// starts reports that an event begins a new part: it does not fit the open one (spec
// 5.5), or the bytes that would have to be kept beside the events, of which the
// published sizes know nothing, would outgrow the target too.
func (r *run) starts(event collect.Event, plain bool) bool {
	if len(r.events) > 0 && !plain && len(r.raws)+len(event.Raw) > r.kept {
		r.split.Close()
		r.split.Starts(event.Captured.Canonical)
		return true
	}
	return r.split.Starts(event.Captured.Canonical)
}

// spelled reports that an event's own text, which is one line, gives its bytes back.
func spelled(event collect.Event) bool {
	n := len(event.Captured.Text)
	return event.Captured.Exact && event.Text == nil && len(event.Raw) == n+1 &&
		bytes.IndexByte(event.Raw, '\n') == n && bytes.Equal(event.Raw[:n], event.Captured.Text)
}

// carry cuts the open part before event and captures event anew on the empty tape.
func (r *run) carry(at collect.Position, event collect.Event) (collect.Event, error) {
	text := bytes.Clone(event.Captured.Text)
	if err := r.cut(); err != nil {
		return event, err
	}
	r.start, r.before, r.damaged = at, r.got.Messages, r.got.Damaged
	captured, err := r.tape.Capture(text)
	if err != nil {
		return event, fmt.Errorf("capture an event again: %w", err)
	}
	event.Captured = captured
	return event, nil
}

func (r *run) add(event collect.Event, plain bool) {
	e := pending{text: event.Captured.Text, plain: plain}
	if !event.Captured.Exact || bytes.IndexByte(e.text, '\n') >= 0 {
		e.text = value.AppendText(nil, event.Captured.Value)
	}
	if !e.plain {
		e.from = len(r.raws)
		r.raws = append(r.raws, event.Raw...)
		e.to = len(r.raws)
	}
	r.events = append(r.events, e)
	r.values = append(r.values, event.Captured.Value)
}

// cut hands the open part to the sink and forgets it.
func (r *run) cut() error {
	r.out = r.out[:0]
	for _, e := range r.events {
		out := PartEvent{Text: e.text, Plain: e.plain}
		if !e.plain {
			out.Raw = r.raws[e.from:e.to]
		}
		r.out = append(r.out, out)
	}
	part := Part{
		Index: r.got.Parts, Events: r.out, ByteLength: r.split.Length(),
		ContentHash: r.hasher.StableArray(r.values), Start: r.start, Messages: r.before, Damaged: r.damaged,
	}
	if err := r.sink.Part(&part); err != nil {
		return err
	}
	r.got.Parts++
	r.reset()
	return nil
}
