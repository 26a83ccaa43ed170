package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

const (
	sampledSessions = 10   // of a source, the last changed
	sampledRecords  = 2000 // of a session, the first
	namedTypes      = 5    // unknown types that a doctor names
)

// recordTyper is a driver that knows which types of records its agent writes.
type recordTyper interface {
	// RecordType names a record's type, and says whether this version knows it. A
	// record without a type has the name "".
	RecordType(record value.Value) (name string, known bool)
}

// sample is what a look into some sessions of a source found.
type sample struct {
	sessions, records, damaged int
	unknown                    map[string]*unknownType
	typed                      bool     // the driver knows types
	failed                     []string // what could not be read
}

// unknownType is a type of records that the driver does not know.
type unknownType struct {
	records int
	key     string // of the session with the first of them
	line    int    // of that, from 1
}

// takeSample reads the beginning of a source's last sessions. Only the end of ctx is
// an error.
func takeSample(ctx context.Context, driver collect.Driver, sessions []sessionObject) (sample, error) {
	got := sample{unknown: make(map[string]*unknownType)}
	_, got.typed = driver.(recordTyper)
	if err := driver.Start(ctx); err != nil {
		got.failed = append(got.failed, err.Error())
		return got, ctx.Err()
	}
	tape := new(value.Tape)
	for _, s := range sessions[:min(sampledSessions, len(sessions))] {
		err := got.read(ctx, driver, s, tape)
		if ctx.Err() != nil {
			return got, errors.Join(ctx.Err(), driver.Stop())
		}
		if err != nil {
			got.failed = append(got.failed, fmt.Sprintf("%s: %v", s.Key, err))
			continue
		}
		got.sessions++
	}
	if err := driver.Stop(); err != nil {
		got.failed = append(got.failed, err.Error())
	}
	return got, nil
}

// read reads the beginning of one session.
func (got *sample) read(ctx context.Context, driver collect.Driver, s sessionObject, tape *value.Tape) (err error) {
	snapshot, err := driver.ReadSession(ctx, s.Session, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	typer, _ := driver.(recordTyper)
	for range sampledRecords {
		tape.Reset()
		line := snapshot.At().Line + 1
		event, err := snapshot.Next(tape)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		got.count(event, typer, unknownType{records: 1, key: s.Key, line: line})
	}
	return nil
}

// count takes one event; at is what it becomes where it is the first of an unknown type.
func (got *sample) count(event collect.Event, typer recordTyper, at unknownType) {
	got.records++
	if event.Damage != collect.Sound {
		if event.Damage != collect.Blank {
			got.damaged++
		}
		return
	}
	if typer == nil || event.Text != nil {
		return
	}
	name, known := typer.RecordType(event.Captured.Value)
	switch first := got.unknown[name]; {
	case known:
	case first != nil:
		first.records++
	default:
		got.unknown[name] = &at
	}
}

// checks judges a sample.
func (got sample) checks(source string) []check {
	about := func(c check) check {
		c.Source = source
		return c
	}
	var checks []check
	for i, message := range got.failed {
		if i == mostProblems {
			checks = append(checks, about(fail("records", "agentsync collect", "and %d more", len(got.failed)-i)))
			break
		}
		checks = append(checks, about(fail("records", "", "%s", message)))
	}
	if len(got.unknown) > 0 {
		checks = append(checks, about(warn("records", "they are published as they are; a newer version may know them",
			"types that this version does not know: %s", typeList(got.unknown))))
	}
	if got.damaged > 0 {
		checks = append(checks, about(warn("records", "they are published byte for byte",
			"%s of %d read", counted(got.damaged, "record is damaged", "records are damaged"), got.records)))
	}
	if len(checks) == 0 && got.sessions > 0 {
		known := ""
		if got.typed {
			known = ", all of known types"
		}
		checks = append(checks, about(ok("records", "%d read from %s%s", got.records, counted(got.sessions, "session", "sessions"), known)))
	}
	return checks
}

// typeList names the most frequent types.
func typeList(types map[string]*unknownType) string {
	names := slices.SortedFunc(maps.Keys(types), func(a, b string) int {
		if types[a].records != types[b].records {
			return types[b].records - types[a].records
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i, name := range names {
		if i == namedTypes {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%d, the first in %s line %d)", firstOf(name, "none"), types[name].records, types[name].key, types[name].line))
	}
	return joined(parts)
}
