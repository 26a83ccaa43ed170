package life

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/ledger/durable"
)

// Phase is how far the retained plan came.
type Phase string

// Phases of a plan.
const (
	NoPlan    Phase = ""
	Ready     Phase = "ready"
	Applying  Phase = "applying"
	Complete  Phase = "complete"
	Drifted   Phase = "applied-with-drift" // some items were left as they are
	Rejected  Phase = "rejected"           // the dataset moved on before anything was applied
	Abandoned Phase = "abandoned"
)

// Upload is what became of the dataset's side of a plan.
type Upload string

// Outcomes of an upload.
const (
	NoUpload     Upload = "none"
	Pending      Upload = "pending"
	Committed    Upload = "committed"
	NotCommitted Upload = "not-committed"
	Unknown      Upload = "unknown" // asked for, and no answer came
)

// State is what became of the retained plan. The two sides have outcomes of their own.
type State struct {
	Plan     string `json:"plan"`
	Phase    Phase  `json:"phase"`
	Upload   Upload `json:"upload"`
	Manifest string `json:"manifest,omitempty"` // that is or was to be published
	Head     int64  `json:"head,omitempty"`     // number it was published under
	// Of the actions that write to the project: all, carried out, left as they are, and
	// failed or not begun.
	Total   int `json:"total"`
	Applied int `json:"applied"`
	Left    int `json:"left"`
	Failed  int `json:"failed"`
	// UploadLeft are the uploads whose file was edited, or could not be read any more.
	UploadLeft int    `json:"uploadLeft"`
	Started    string `json:"started,omitempty"`
	Ended      string `json:"ended,omitempty"`
}

// State reads what became of the retained plan; the zero State when there is none.
func (b *Bound) State() (State, error) {
	var s State
	_, err := b.readJSON(stateFile, &s)
	return s, err
}

// Plan reads the retained plan and its id; nil when there is none.
func (b *Bound) Plan() (*dirsync.Plan, string, error) {
	text, err := b.read(planFile)
	if text == nil || err != nil {
		return nil, "", err
	}
	plan, err := dirsync.ParsePlan(text)
	if err != nil {
		return nil, "", b.corrupt(planFile, err)
	}
	return plan, dirsync.PlanID(text), nil
}

// PlanID returns the retained plan's id, "" when there is none.
func (b *Bound) PlanID() (string, error) {
	text, err := b.read(planFile)
	if text == nil || err != nil {
		return "", err
	}
	return dirsync.PlanID(text), nil
}

// current returns the retained plan if it is the one asked for.
func (b *Bound) current(id string) (*dirsync.Plan, State, error) {
	plan, retained, err := b.Plan()
	if err != nil {
		return nil, State{}, err
	}
	if plan == nil || retained != id {
		return nil, State{}, fmt.Errorf("plan %.80s of binding %s: %w", id, b.ID, ErrPlanChanged)
	}
	s, err := b.State()
	if err != nil {
		return nil, State{}, err
	}
	if s.Plan != id { // the pass that made the plan died before it wrote so
		s = State{Plan: id, Phase: Ready, Upload: NoUpload}
	}
	return plan, s, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// line is one outcome in the progress file.
type line struct {
	Plan string `json:"plan"`
	Side string `json:"side"`
	apply.Result
}

// record appends outcomes to the progress file, durably.
func (b *Bound) record(plan string, side dirsync.Side, results []apply.Result) error {
	if len(results) == 0 {
		return nil
	}
	var text []byte
	for _, r := range results {
		one, err := json.Marshal(line{plan, side.String(), r})
		if err != nil {
			return err
		}
		text = append(append(text, one...), '\n')
	}
	return b.appendProgress(text)
}

// outcomes reads the outcomes recorded for a plan, by side and path. A last line that a
// crash cut off stands for nothing.
func (b *Bound) outcomes(plan string) (map[dirsync.Side]map[string]apply.Result, error) {
	found := map[dirsync.Side]map[string]apply.Result{dirsync.Project: {}, dirsync.Dataset: {}}
	text, err := b.read(progressFile)
	if err != nil {
		return nil, err
	}
	for n := 1; len(text) > 0; n++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		text = rest
		if len(one) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			return nil, b.corrupt(progressFile, fmt.Errorf("line %d: %w", n, err))
		}
		if side, known := dirsync.ParseSide(l.Side); known && l.Plan == plan {
			found[side][l.Path] = l.Result
		}
	}
	return found, nil
}

// appendProgress adds whole lines. A line that an earlier crash cut off is ended first.
func (b *Bound) appendProgress(text []byte) error {
	have, err := b.read(progressFile)
	if err != nil {
		return err
	}
	if cut := bytes.LastIndexByte(have, '\n') + 1; cut < len(have) {
		if err := b.write(progressFile, have[:cut]); err != nil {
			return err
		}
	}
	return durable.Append(b.Disk, b.path(progressFile), text)
}

// ancestor reads the last common state. One that cannot be read is set aside, said
// loudly, and taken for empty: then nothing is overwritten.
func (b *Bound) ancestor() (dirsync.Ancestor, error) {
	text, err := b.read(ancestorFile)
	if text == nil || err != nil {
		return dirsync.Ancestor{}, err
	}
	a, err := dirsync.ParseAncestor(text)
	if err == nil {
		return a, nil
	}
	aside := fmt.Sprintf("%s.broken-%d", ancestorFile, b.Now().UnixNano())
	if err := b.Disk.Rename(b.path(ancestorFile), b.path(aside)); err != nil {
		return a, b.corrupt(ancestorFile, err)
	}
	b.notes = append(b.notes, fmt.Sprintf("what both sides last agreed on cannot be read (%v) and was set aside as %s: "+
		"equal files are adopted, different ones become conflicts, and nothing is overwritten", err, aside))
	return dirsync.Ancestor{}, nil
}

func (b *Bound) saveAncestor(a dirsync.Ancestor) error {
	text, err := a.Encode()
	if err != nil {
		return err
	}
	return b.write(ancestorFile, text)
}
