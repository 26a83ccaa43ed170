package publish

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/ledger"
)

// backup is a copy of the store, and what it gives back.
type backup struct {
	files  map[string][]byte
	stored []map[string][]string
}

// copyStore takes a copy of the store.
func (m *model) copyStore() {
	m.note("copy the store")
	m.backup = &backup{files: map[string][]byte{}}
	for _, path := range m.disk.Files() {
		if strings.HasPrefix(path, "/store/") {
			m.backup.files[path] = m.read(path)
		}
	}
	for _, one := range m.machines {
		stored := map[string][]string{}
		for key, texts := range one.stored {
			stored[key] = slices.Clone(texts)
		}
		m.backup.stored = append(m.backup.stored, stored)
	}
}

func (m *model) read(path string) []byte {
	f, err := m.disk.Open(path)
	if err != nil {
		m.fail("%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		m.fail("%v", err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		m.fail("%v", err)
	}
	return b
}

// putBack puts the copy back in the store's place. A machine that knows what it saw stops
// until that is accepted, and publishes nothing before.
func (m *model) putBack() {
	m.note("put the copy of the store back")
	before := m.sight()
	m.replaceStore()
	one, now := m.machines[0], m.sight()
	if maps.Equal(before.Heads, now.Heads) {
		return
	}
	seen, err := ledger.OpenSeen(m.disk, "/state-"+one.name, false)
	if err == nil {
		err = seen.Replace(before)
	}
	target, opened := m.open(one)
	if err := errors.Join(err, opened); err != nil {
		m.fail("%v", err)
	}
	target.Seen = seen
	var past *PastError
	_, err = target.Publish(context.Background(), Pass{Sources: []collect.Driver{one.driver}, Now: m.now})
	if !errors.As(err, &past) || !maps.Equal(m.sight().Heads, now.Heads) {
		m.fail("publish into a store that went back: %v", err)
	}
}

// sight is what is to be seen of the store now.
func (m *model) sight() ledger.Sight {
	target, err := m.open(m.machines[0])
	var sight ledger.Sight
	if err == nil {
		sight, err = target.Sight(context.Background())
	}
	if err != nil {
		m.fail("look at the store: %v", err)
	}
	return sight
}

func (m *model) replaceStore() {
	for _, path := range m.disk.Files() {
		if strings.HasPrefix(path, "/store/") {
			if err := m.disk.Remove(path); err != nil {
				m.fail("%v", err)
			}
		}
	}
	for path, text := range m.backup.files {
		f, err := m.disk.Create(path, 0o600)
		if err == nil {
			_, err = f.Write(text)
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close(), m.disk.SyncDir(path[:strings.LastIndex(path, "/")]))
		}
		if err != nil {
			m.fail("put %s back: %v", path, err)
		}
	}
	for i, one := range m.machines {
		one.stored = m.backup.stored[i]
	}
	m.backup = nil
}
