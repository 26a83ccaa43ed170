package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"agentsync/collect"
	"agentsync/ledger/durable"
)

const (
	memoryFile    = "memory.json"
	memoryVersion = 1
	maxRemembered = 1 << 20  // bytes of one text, and of the names that it goes by
	maxMemory     = 64 << 20 // bytes of the file
)

// Memory returns what the sources of this installation remember from pass to pass. It
// is read when first asked.
func (s *State) Memory() *Memory { return &Memory{state: s} }

// Memory is a collect.Memory in the state folder. It serves many goroutines; what
// another process remembers meanwhile is seen when this one next remembers something.
type Memory struct {
	state *State

	mu   sync.Mutex
	read *memory // nil before it is first asked
}

var _ collect.Memory = (*Memory)(nil)

// Recall returns what was remembered, and whether there is anything. A file that cannot
// be read remembers nothing and is noted.
func (m *Memory) Recall(sourceID, nativeSessionID, key string) (text string, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read == nil {
		kept, err := m.load()
		if err != nil {
			m.state.note("what the sources remember could not be read: %v", err)
			kept = newMemory()
		}
		m.read = &kept
	}
	text, found = m.read.texts[sourceID][nativeSessionID][key]
	return text, found
}

// Remember replaces what is remembered, durably; "" forgets it. A text of more than
// 1 MiB, or one that is no valid UTF-8, is an error. A file that cannot be understood is
// set aside and begun anew; one of a newer format is left alone.
func (m *Memory) Remember(ctx context.Context, sourceID, nativeSessionID, key, text string) error {
	fact := fact{sourceID, nativeSessionID, key, text}
	err := fact.check()
	if err == nil {
		err = m.update(ctx, fact)
	}
	if err != nil {
		return fmt.Errorf("remember %.80q of source %.80q: %w", key, sourceID, err)
	}
	return nil
}

// fact is one thing to remember.
type fact struct{ source, session, key, text string }

func (f fact) check() error {
	for _, part := range []string{f.source, f.session, f.key, f.text} {
		if len(part) > maxRemembered {
			return fmt.Errorf("%d bytes are more than the %d allowed", len(part), maxRemembered)
		}
		if !utf8.ValidString(part) {
			return errors.New("it is no valid UTF-8")
		}
	}
	return nil
}

func (m *Memory) update(ctx context.Context, f fact) error {
	s := m.state
	m.mu.Lock()
	defer m.mu.Unlock()
	release, err := durable.Lock(ctx, s.disk, s.Path(stateLock), stateWait, durable.Holder{})
	if err != nil {
		return err
	}
	return errors.Join(m.updateLocked(f), release())
}

func (m *Memory) updateLocked(f fact) error {
	kept, err := m.load()
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		err = m.state.setAside(corrupt.Path, corrupt)
		kept = newMemory()
	}
	if err != nil {
		return err
	}
	if kept.set(f) {
		content, err := kept.encode()
		if err == nil && len(content) > maxMemory {
			err = fmt.Errorf("all would take %d bytes, more than the %d allowed", len(content), maxMemory)
		}
		if err == nil {
			err = durable.Replace(m.state.disk, m.state.Path(memoryFile), content, privateFile, true)
		}
		if err != nil {
			m.read = nil // the file may have either content
			return err
		}
	}
	m.read = &kept
	return nil
}

// load returns what the file says; an absent file says nothing.
func (m *Memory) load() (memory, error) {
	path := m.state.Path(memoryFile)
	content, err := readPrivate(m.state.disk, path, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return newMemory(), nil
	}
	if err != nil {
		return memory{}, err
	}
	return parseMemory(path, content)
}

// memory is the content of the file: texts by source, session and key.
type memory struct {
	texts   map[string]map[string]map[string]string
	unknown map[string]json.RawMessage
}

func newMemory() memory {
	return memory{map[string]map[string]map[string]string{}, map[string]json.RawMessage{}}
}

// set makes a change and reports whether it is one.
func (m memory) set(f fact) bool {
	kept, found := m.texts[f.source][f.session][f.key]
	switch {
	case found && kept == f.text || !found && f.text == "":
		return false
	case f.text == "":
		m.forget(f)
		return true
	}
	if m.texts[f.source] == nil {
		m.texts[f.source] = map[string]map[string]string{}
	}
	if m.texts[f.source][f.session] == nil {
		m.texts[f.source][f.session] = map[string]string{}
	}
	m.texts[f.source][f.session][f.key] = f.text
	return true
}

func (m memory) forget(f fact) {
	delete(m.texts[f.source][f.session], f.key)
	if len(m.texts[f.source][f.session]) == 0 {
		delete(m.texts[f.source], f.session)
	}
	if len(m.texts[f.source]) == 0 {
		delete(m.texts, f.source)
	}
}

// parseMemory reads the file at path: a *VersionError for a newer format, a
// *CorruptError for whatever is not of this one. It quotes no text.
func parseMemory(path string, content []byte) (memory, error) {
	kept := newMemory()
	damaged := func(field, reason string) (memory, error) {
		return memory{}, &CorruptError{Path: path, Field: field, Err: errors.New(reason)}
	}
	if !utf8.Valid(content) || json.Unmarshal(content, &kept.unknown) != nil {
		return damaged("content", "is no JSON object")
	}
	var version uint64
	if err := json.Unmarshal(kept.unknown["version"], &version); err != nil || version == 0 {
		return damaged("version", "is no number above 0")
	}
	if err := checkVersion(path, version, memoryVersion); err != nil {
		return memory{}, err
	}
	if stored, found := kept.unknown["remembered"]; found {
		if strings.TrimSpace(string(stored)) == "null" || json.Unmarshal(stored, &kept.texts) != nil {
			return damaged("remembered", "is not texts by source, session and key")
		}
	}
	return kept, nil
}

// encode returns the file's content. Fields of others are kept as they were.
func (m memory) encode() ([]byte, error) {
	all := make(map[string]any, len(m.unknown)+2)
	for field, value := range m.unknown {
		all[field] = value
	}
	all["version"] = memoryVersion
	all["remembered"] = m.texts
	content, err := json.MarshalIndent(all, "", "  ")
	return append(content, '\n'), err
}
