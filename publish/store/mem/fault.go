package mem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// Op is one kind of call.
type Op string

// The calls a store counts and faults can choose.
const (
	Get    Op = "get"
	Stat   Op = "stat"
	Stage  Op = "stage"
	Write  Op = "write"
	Commit Op = "commit"
	List   Op = "list"
	Delete Op = "delete"
	Hint   Op = "hint"
)

// Fault makes chosen calls go wrong. The zero fault chooses every call of every kind
// and does nothing to it.
type Fault struct {
	Op     Op     // "" chooses every kind
	Prefix string // of the name; "" chooses every name
	Skip   int    // chosen calls to let pass first
	Times  int    // calls to break after that; 0 is every one

	Before error // the call fails with this and changes nothing
	After  error // the call takes effect, and fails with this: a time-out after success
	Short  int   // a Get loses this many bytes from its end, and fails as short reads do
	// Alter, if set, changes the bytes that a Get returns.
	Alter func(content []byte)

	seen int
}

// Inject adds a fault; a later one sees only calls that earlier ones let take effect.
func (s *Store) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal removes every fault.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Calls returns how many calls of one kind were made, failed ones included; "" counts
// every kind.
func (s *Store) Calls(op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op != "" {
		return s.calls[op]
	}
	total := 0
	for _, n := range s.calls {
		total += n
	}
	return total
}

// ResetCalls starts counting anew.
func (s *Store) ResetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.calls)
}

// strikes reports whether the fault breaks this call.
func (f *Fault) strikes(op Op, name string) bool {
	if f.Op != "" && f.Op != op || !strings.HasPrefix(name, f.Prefix) {
		return false
	}
	f.seen++
	return f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times)
}

// call counts one call, lets the faults at it, and names it in its error.
func (s *Store) call(ctx context.Context, op Op, name string, checked error, act func(struck []*Fault) error) error {
	if checked != nil {
		return checked
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	var struck []*Fault
	for _, f := range s.faults {
		if !f.strikes(op, name) {
			continue
		}
		if f.Before != nil {
			return fmt.Errorf("%s %s: %w", op, name, f.Before)
		}
		struck = append(struck, f)
	}
	if err := act(struck); err != nil {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	for _, f := range struck {
		if f.After != nil {
			return fmt.Errorf("%s %s: %w", op, name, f.After)
		}
	}
	return nil
}

// spoil returns a copy of content as a Get hands it out under the faults that struck it.
func spoil(content []byte, struck []*Fault) ([]byte, error) {
	content = bytes.Clone(content)
	var err error
	for _, f := range struck {
		if f.Short > 0 {
			content, err = content[:max(len(content)-f.Short, 0)], io.ErrUnexpectedEOF
		}
		if f.Alter != nil {
			f.Alter(content)
		}
	}
	return content, err
}
