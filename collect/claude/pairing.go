package claude

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentsync/collect/lines"
)

// A start in the client's app begins with a link: the person sends the prompt there, and
// the app chooses the session's id. So the session is recognized afterwards, in a later
// inventory, and bears the id of the start as the one it was started as.

// Keys of what is remembered of such starts.
const (
	pendingKey   = "desktop-starts" // of the source: those that no session was found for yet
	startedAsKey = "startedAs"      // of a session: the start that it was paired with
)

const (
	pendingLife  = 24 * time.Hour // a start that nobody went on with is forgotten
	openingUnits = 200            // of a prompt count when it is recognized, in UTF-16 units
)

// pendingStart is a start that was opened in the app. It holds no prompt, only a digest.
type pendingStart struct {
	ID       string   `json:"id"`       // that the caller chose
	Dir      string   `json:"dir"`      // as resolved
	Opening  string   `json:"opening"`  // digest of the prompt's beginning
	Boundary int64    `json:"boundary"` // milliseconds since 1970 UTC; older sessions are none of its
	Known    []string `json:"known"`    // sessions not older than it that were there before
}

// pending are the starts that may still be paired.
func (d *Driver) pending() ([]pendingStart, error) {
	text := d.recall("", pendingKey)
	if text == "" {
		return nil, nil
	}
	var all []pendingStart
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("read the pending starts of source %s: %w", d.descriptor.ID, err)
	}
	oldest := d.env.Now.Add(-pendingLife).UnixMilli()
	return slices.DeleteFunc(all, func(p pendingStart) bool { return p.Boundary < oldest }), nil
}

// keepPending replaces the pending starts.
func (d *Driver) keepPending(ctx context.Context, all []pendingStart) error {
	if len(all) == 0 {
		return d.remember(ctx, "", pendingKey, "")
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return d.remember(ctx, "", pendingKey, string(text))
}

// begun is what a session is recognized by.
type begun struct {
	id, dir, opening string
	created          int64
}

// pairStarts finds the sessions of pending starts in an inventory. Without pending starts
// it opens no transcript.
func (d *Driver) pairStarts(ctx context.Context, known *catalog) error {
	d.pairing.Lock()
	defer d.pairing.Unlock()
	waiting, err := d.pending()
	if err != nil || len(waiting) == 0 {
		return err
	}
	oldest := slices.MinFunc(waiting, func(a, b pendingStart) int { return int(a.Boundary - b.Boundary) }).Boundary
	before := len(waiting)
	for s := range d.sessionsSince(known, oldest) {
		i := slices.IndexFunc(waiting, s.isOf)
		if i < 0 || d.recall(s.id, startedAsKey) != "" {
			continue
		}
		if err := d.remember(ctx, s.id, startedAsKey, waiting[i].ID); err != nil {
			return err
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
	if len(waiting) == before {
		return nil
	}
	return d.keepPending(ctx, waiting)
}

// isOf reports that a start began the session.
func (s begun) isOf(p pendingStart) bool {
	return s.created >= p.Boundary && !slices.Contains(p.Known, s.id) && s.dir == p.Dir && s.opening == p.Opening
}

// sessionsSince reads how the sessions began that may have been created at or after a
// time: a file that was last changed earlier holds none. A transcript that cannot be read
// now is recognized later.
func (d *Driver) sessionsSince(known *catalog, boundary int64) func(yield func(begun) bool) {
	return func(yield func(begun) bool) {
		for _, s := range known.sessions {
			if s.kind != mainSession || s.id != s.family || roundMillis(s.stamp.ModTime) < boundary {
				continue
			}
			b, err := d.beginningOf(s)
			if err == nil && b.created >= boundary && !yield(b) {
				return
			}
		}
	}
}

func (d *Driver) beginningOf(s session) (begun, error) {
	r, err := lines.Open(d.file(s), lines.Options{})
	if err != nil {
		return begun{}, err
	}
	defer r.Close()
	e, err := gather(r, r.Stamp().Size, "")
	if err != nil {
		return begun{}, err
	}
	var p parser
	f := p.read(e)
	b := begun{id: s.id, created: -1}
	if f.createdAt != nil {
		b.created = *f.createdAt
	}
	if f.cwd != nil {
		b.dir = d.real(*f.cwd)
	}
	if prompt, ok := p.opening(e.head); ok {
		b.opening = openingDigest(prompt)
	}
	return b, nil
}

// opening finds the first prompt in the text, uncut.
func (p *parser) opening(text string) (string, bool) {
	for line := range strings.SplitSeq(text, "\n") {
		v, ok := p.userLine(line)
		if !ok {
			continue
		}
		for part := range texts(v) {
			if prompt, _ := judgePrompt(part); prompt != "" {
				return prompt, true
			}
		}
	}
	return "", false
}

// openingDigest stands for the beginning of a prompt, however its words are spaced.
func openingDigest(prompt string) string {
	words := strings.Join(strings.FieldsFunc(prompt, isSpace), " ")
	beginning, _ := cutUnits(words, openingUnits)
	sum := sha256.Sum256([]byte(beginning))
	return hex.EncodeToString(sum[:])
}

// real is a directory without links in its name, or as it stands when it is not there.
func (d *Driver) real(dir string) string {
	if real, err := d.resolve(dir); err == nil {
		return real
	}
	return dir
}
