package publish

import (
	"context"
	"fmt"
	"sync"

	"agentsync/chunk"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// packLimit is where a pack is cut, in bytes: large enough that a first publish
// makes few files, small enough to be one upload, and to be checked by several at once.
const packLimit = 32 << 20

// packer gathers documents into packs. Several goroutines may add; only one may
// cut or finish.
type packer struct {
	ctx   context.Context
	store store.Store

	closing   sync.WaitGroup
	mu        sync.Mutex
	writer    *pack.Writer
	open      *document.Pack
	settled   bool // the open pack takes the index and is not cut before it is whole
	files     []document.File
	failed    error // of a pack that could not be closed
	documents int
	bytes     int64
	before    int64 // of bytes, those that are in a generation
}

// add puts one compressed document into the open pack. A pack that has reached
// its limit is closed first, so the link may be into a pack that has no name yet.
func (p *packer) add(id string, frame []byte, plain int) (document.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return document.Link{}, p.failed
	}
	if p.writer != nil && p.writer.Size() >= packLimit && !p.settled {
		p.close()
	}
	if err := p.begin(); err != nil {
		return document.Link{}, err
	}
	at, err := p.writer.Add(id, frame, plain)
	if err != nil {
		return document.Link{}, &storeError{fmt.Errorf("add a document to a pack: %w", err)}
	}
	p.documents++
	p.bytes += at.Length
	return document.Link{Pack: p.open, Offset: at.Offset, Length: at.Length}, nil
}

func (p *packer) begin() error {
	if p.writer != nil {
		return nil
	}
	staged, err := p.store.Stage(p.ctx)
	if err != nil {
		return &storeError{fmt.Errorf("begin a pack: %w", err)}
	}
	p.writer, p.open = pack.NewWriter(staged), &document.Pack{}
	return nil
}

// close makes the open pack durable and names it, while the next one is filled.
// Until wait, links into it have no name.
func (p *packer) close() {
	if p.writer == nil {
		return
	}
	writer, open := p.writer, p.open
	p.writer, p.open = nil, nil
	p.closing.Add(1)
	go func() {
		defer p.closing.Done()
		size := writer.Size()
		name, err := writer.Commit(p.ctx, p.store)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.failed = &storeError{fmt.Errorf("close a pack: %w", err)}
			return
		}
		open.Name = name
		p.files = append(p.files, document.File{Pack: open, Size: size})
	}()
}

// cut closes the open pack and waits until all packs are durable.
func (p *packer) cut() error {
	p.mu.Lock()
	p.close()
	p.mu.Unlock()
	p.closing.Wait()
	return p.failed
}

// indexRoom is what an index may add to a pack that is not cut before it, in bytes.
const indexRoom = 8 << 20

// settle prepares for the index pages. They link into their own pack without
// knowing its name, so from here on the open pack is not cut until they are written.
func (p *packer) settle() error {
	p.mu.Lock()
	p.settled = true
	if p.writer != nil && p.writer.Size() > packLimit-indexRoom {
		p.close()
	}
	p.mu.Unlock()
	p.closing.Wait()
	return p.failed
}

// since is how many bytes were added since the last generation.
func (p *packer) since() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes - p.before
}

// next begins the packs of the next generation.
func (p *packer) next() { p.settled, p.files, p.before = false, nil, p.bytes }

// discard forgets the open pack, and waits for those that are being closed.
func (p *packer) discard() {
	p.closing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writer != nil {
		p.writer.Discard()
		p.writer, p.open = nil, nil
	}
}

// write compresses a store-level text and adds it under the digest of the text.
func (p *packer) write(enc *chunk.Encoder, text []byte) (document.Link, error) {
	return p.add(digest.Sum(text).String(), enc.Encode(nil, text), len(text))
}
