package publish

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/publish/document"
	storefs "agentsync/publish/store/fs"
)

// model drives two machines that publish into one store, each its own source, and knows
// what every session that was published must give back.
type model struct {
	*testing.T
	rng      *mathrand.Rand
	disk     *crashfs.FS
	id       *ledger.Identity
	now      time.Time
	machines []*machine
	steps    []string // the newest ones
	backup   *backup
}

// machine is one installation, its source, and what is known of it.
type machine struct {
	name     string
	driver   *fakedriver.Driver
	sessions map[string][]string // that the agent has now
	// stored holds for each key what the store must give back: one of these texts. A pass
	// that died may have published what the agent had then, or not.
	stored map[string][]string
	made   int
	noted  int // lines
}

const modelGrace = 7 * 24 * time.Hour

func newModel(t *testing.T, seed uint64, id *ledger.Identity) *model {
	m := &model{T: t, rng: mathrand.New(mathrand.NewPCG(seed, 1)), disk: crashfs.New(seed), id: id, now: noon}
	for _, name := range []string{"one", "two"} {
		d := fakedriver.New("source-" + name)
		one := &machine{name: name, driver: d, sessions: map[string][]string{}, stored: map[string][]string{}}
		m.machines = append(m.machines, one)
		m.begin(one, "anchor") // never removed: all gone at once is another question
	}
	return m
}

func (m *model) note(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
	if len(m.steps) > 60 {
		m.steps = slices.Delete(m.steps, 1, 2) // the first one says how to run it again
	}
}

// open opens the store as one machine does.
func (m *model) open(one *machine) (*Target, error) {
	disk, err := storefs.OpenOn(m.disk, "/store", true)
	if err != nil {
		return nil, err
	}
	state := "/state-" + one.name
	_ = m.disk.Mkdir(state, 0o700) // it exists, or the pass meets the error again
	o := Options{Store: disk, FS: m.disk, State: state, Signer: m.id, Installation: one.name, Rand: rand.Reader, Workers: 1}
	target, err := Open(context.Background(), o)
	if errors.Is(err, ErrNoStore) {
		return Create(context.Background(), o, m.now)
	}
	return target, err
}

// text makes lines that no session had before, now and then as large as to fill a pack.
func (m *model) text(one *machine) []string {
	if m.rng.IntN(4) == 0 {
		return []string{noise(m.rng, 1000+m.rng.IntN(50_000))}
	}
	n := 1 + m.rng.IntN(4)
	one.noted += n
	return lines(n, one.noted)
}

func (m *model) begin(one *machine, id string) {
	one.sessions[id] = m.text(one)
	one.driver.Session(id, one.sessions[id]...)
}

// pick returns one of the machine's sessions, "" when there is none but the anchor.
func (m *model) pick(one *machine, anchor bool) string {
	var ids []string
	for _, id := range sortedKeys(one.sessions) {
		if anchor || id != "anchor" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return ids[m.rng.IntN(len(ids))]
}

// edit lets the agent of a machine work.
func (m *model) edit(one *machine) {
	switch n := m.rng.IntN(10); {
	case n < 2 && len(one.sessions) < 6:
		one.made++
		id := fmt.Sprintf("s%d", one.made)
		m.note("%s: begin %s", one.name, id)
		m.begin(one, id)
	case n < 4:
		id := m.pick(one, true)
		m.note("%s: rewrite %s", one.name, id)
		m.begin(one, id)
	case n == 4:
		if id := m.pick(one, false); id != "" {
			m.note("%s: delete %s", one.name, id)
			delete(one.sessions, id)
			one.driver.Remove(id)
		}
	default:
		id, more := m.pick(one, true), m.text(one)
		m.note("%s: append %d to %s", one.name, len(more), id)
		one.sessions[id] = append(slices.Clone(one.sessions[id]), more...)
		one.driver.Append(id, more...)
	}
}

// try runs one pass of a machine, and says what the store may hold after it.
func (m *model) try(one *machine, full bool, pause func(int64) bool) error {
	m.now = m.now.Add(time.Minute)
	m.disk.SetTime(m.now)
	target, err := m.open(one)
	if err == nil {
		_, err = target.Publish(context.Background(), Pass{Sources: []collect.Driver{one.driver}, Now: m.now, Full: full, Pause: pause})
	}
	for id, text := range one.sessions {
		key := one.driver.Source().ID + "/" + id
		if err != nil {
			one.stored[key] = append(one.stored[key], joined(text))
			if len(one.stored[key]) == 1 {
				one.stored[key] = append(one.stored[key], "") // or not yet
			}
			continue
		}
		one.stored[key] = []string{joined(text)}
	}
	return err
}

func (m *model) publish(one *machine) {
	full := m.rng.IntN(20) == 0
	m.note("%s: publish, full %v", one.name, full)
	if err := m.try(one, full, nil); err != nil {
		m.fail("publish: %v", err)
	}
}

// race lets the other machine publish, and now and then prune, while one reads.
func (m *model) race(one, other *machine) {
	prune, once := m.rng.IntN(2) == 0, true
	m.edit(one)
	m.note("%s: publish, beside %s, prune %v", one.name, other.name, prune)
	one.driver.OnRead(func(string) {
		if !once {
			return
		}
		once = false
		for range 1 + m.rng.IntN(10) {
			m.edit(other)
			m.publish(other)
		}
		if prune {
			m.prune(other)
		}
	})
	err := m.try(one, false, nil)
	one.driver.OnRead(nil)
	if err != nil {
		m.fail("publish: %v", err)
	}
}

// kill stops a pass or a prune at any of its steps, the machine with it or not.
func (m *model) kill(one *machine) {
	m.disk.StopBefore(m.rng.IntN(80))
	m.disk.SetSurvival([]float64{0, 0.5, 1}[m.rng.IntN(3)])
	var err error
	if m.rng.IntN(4) == 0 {
		m.note("%s: kill a prune", one.name)
		_, err = m.pruneNow(one)
	} else {
		m.note("%s: kill a publish", one.name)
		err = m.try(one, false, func(int64) bool { return m.rng.IntN(3) == 0 })
	}
	stopped := m.disk.Stopped()
	if m.rng.IntN(2) == 0 {
		m.disk.Crash()
	} else {
		m.disk.Kill()
		// What a killed pass had not synced, systems write back within seconds. That power
		// is lost before that, and then once more before another pass, takes a generation
		// away that was read; its sources still have what it held.
		if err := m.disk.SyncAll("/store"); err != nil {
			m.fail("write back: %v", err)
		}
	}
	if err != nil && !stopped {
		m.fail("before it was stopped: %v", err)
	}
	m.check()
}

func (m *model) pruneNow(one *machine) (PruneReport, error) {
	target, err := m.open(one)
	if err != nil {
		return PruneReport{}, err
	}
	return target.Prune(context.Background(), PruneOptions{Keep: 1 + m.rng.IntN(4), Grace: modelGrace, Apply: true, Now: m.now})
}

func (m *model) prune(one *machine) {
	r, err := m.pruneNow(one)
	if errors.Is(err, ErrNoStore) {
		return
	}
	m.note("%s: prune, %d removed", one.name, len(r.Removed))
	if err != nil {
		m.fail("prune: %v", err)
	}
}

// check reads every session that should be readable. What a pass that died left open is
// known after that.
func (m *model) check() {
	target, err := m.open(m.machines[0])
	if err != nil {
		m.fail("open: %v", err)
	}
	v, err := target.View(context.Background())
	if errors.Is(err, ErrEmpty) {
		v = nil
	} else if err != nil {
		m.fail("view: %v", err)
	}
	for _, one := range m.machines {
		for _, key := range sortedKeys(one.stored) {
			got := ""
			if v != nil {
				got = m.give(v, key)
			}
			if !slices.Contains(one.stored[key], got) {
				m.fail("%s gives %d bytes back, which is none of the %d texts that it may hold", key, len(got), len(one.stored[key]))
			}
			if one.stored[key] = []string{got}; got == "" {
				delete(one.stored, key)
			}
		}
	}
}

// give reads a session's bytes, "" when it is not published.
func (m *model) give(v *View, key string) string {
	row, err := v.Find(key)
	if err != nil {
		m.fail("find %s: %v", key, err)
	}
	if row == nil {
		return ""
	}
	s, err := v.Session(row)
	if err != nil {
		m.fail("open %s: %v", key, err)
	}
	var out bytes.Buffer
	err = s.Events(func(_ int, e *document.ChunkEvent) error {
		if e.Plain {
			out.Write(e.Text)
			return out.WriteByte('\n')
		}
		_, err := out.Write(e.Raw)
		return err
	})
	if err != nil {
		m.fail("read %s: %v", key, err)
	}
	return out.String()
}

func (m *model) verify() {
	target, err := m.open(m.machines[0])
	if err != nil {
		m.fail("open: %v", err)
	}
	r, err := target.Verify(context.Background(), VerifyOptions{Deep: true})
	if err != nil || len(r.Problems) > 0 {
		m.fail("verify: %v, %d problems: %+v", err, len(r.Problems), r.Problems[:min(3, len(r.Problems))])
	}
}

func (m *model) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf("%s\nthe newest steps:\n  %s", fmt.Sprintf(format, args...), strings.Join(m.steps, "\n  "))
}

func (m *model) step() {
	i := m.rng.IntN(2)
	one, other := m.machines[i], m.machines[1-i]
	switch n := m.rng.IntN(100); {
	case n < 45:
		m.edit(one)
		return // the store is as it was
	case n < 75:
		m.publish(one)
	case n < 79:
		m.race(one, other)
	case n < 86:
		m.kill(one)
		m.publish(one)
	case n < 91:
		by := time.Duration(m.rng.IntN(10)) * 24 * time.Hour
		m.note("%v go by", by)
		m.now = m.now.Add(by)
		m.disk.SetTime(m.now)
		return
	case n < 97:
		m.prune(one)
	case m.backup == nil:
		m.copyStore()
	case m.rng.IntN(3) == 0:
		m.putBack()
		m.check()
		m.publish(one)
		m.publish(other)
	}
	m.check()
}

// TestModel takes random steps and checks after each that every session is there, to the
// byte. AGENTSYNC_MODEL_STEPS says how many, AGENTSYNC_MODEL_SEED which.
func TestModel(t *testing.T) {
	total, seed := 300, uint64(1)
	if text := os.Getenv("AGENTSYNC_MODEL_STEPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		total = n
	}
	if text := os.Getenv("AGENTSYNC_MODEL_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	const each = 1000 // steps of one store
	id := testIdentity(t)
	for done := 0; done < total; done += each {
		m := newModel(t, seed, id)
		m.note("AGENTSYNC_MODEL_SEED=%d AGENTSYNC_MODEL_STEPS=%d", seed, each)
		for n := range min(each, total-done) {
			if m.step(); n%50 == 49 {
				m.verify()
			}
		}
		for _, one := range m.machines {
			m.publish(one)
		}
		m.check()
		m.verify()
		seed++
	}
}
