package dirsync

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"agentsync/hashgraph/digest"
)

// Plan is what was decided, immutable: the same world gives the same bytes and so the
// same id. Times and machines stay outside.
type Plan struct {
	Binding   string    `json:"binding"`
	Revision  int64     `json:"revision"`
	Direction Direction `json:"direction"`
	Ancestor  int64     `json:"ancestor"` // its generation
	Project   string    `json:"project"`  // digest of the scanned tree
	Manifest  string    `json:"manifest"` // digest of the dataset's manifest
	Head      int64     `json:"head"`     // number of the dataset's head, 0 for none yet
	Accepts   Accepts   `json:"accepts"`

	Actions   []Action      `json:"actions"`
	Adoptions []Adoption    `json:"adoptions"`
	Held      []Held        `json:"held"`
	Conflicts []Conflict    `json:"conflicts"`
	Blocked   []BlockedItem `json:"blocked"`
	Local     []Local       `json:"local"`
	Choices   []Choice      `json:"choices"`
}

const planSchema = "agentsync.dirsync-plan"

// Encode renders the plan's canonical bytes and its id, the SHA-256 of them.
func (p *Plan) Encode() (text []byte, id string) {
	text = appendPlan(make([]byte, 0, 512+320*len(p.Actions)+160*len(p.Adoptions)), p)
	return text, PlanID(text)
}

// PlanID is the id of a plan with these bytes.
func PlanID(text []byte) string { return digest.Sum(text).String() }

// ParsePlan reads a plan. Whether it is the one that somebody means, its id tells: other
// bytes are another plan.
func ParsePlan(text []byte) (*Plan, error) {
	var doc struct {
		Schema string `json:"schema"`
		Plan
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if doc.Schema != planSchema {
		return nil, fmt.Errorf("plan: schema is %.80q", doc.Schema)
	}
	return &doc.Plan, nil
}

// Writes counts the actions that write to a side.
func (p *Plan) Writes(to Side) int {
	n := 0
	for i := range p.Actions {
		if p.Actions[i].Side == to {
			n++
		}
	}
	return n
}

// Idle reports a plan that changes neither a side nor the ancestor.
func (p *Plan) Idle() bool { return len(p.Actions)+len(p.Adoptions)+len(p.Choices) == 0 }

// entryFields is an entry in documents.
type entryFields struct {
	Kind       string `json:"kind"`
	Hash       string `json:"hash,omitempty"`
	Size       string `json:"size,omitempty"` // decimal, as in a manifest
	Executable *bool  `json:"executable,omitempty"`
	Target     string `json:"target,omitempty"`
	Reason     Reason `json:"reason,omitempty"`
}

// MarshalJSON writes only the fields that the kind has.
func (e Entry) MarshalJSON() ([]byte, error) {
	f := entryFields{Kind: e.Kind.String(), Target: e.Target, Reason: e.Reason}
	if e.Kind == File {
		f.Hash, f.Size, f.Executable = e.Digest.Hex(), strconv.FormatInt(e.Size, 10), &e.Executable
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var f entryFields
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*e = Entry{Target: f.Target, Reason: f.Reason}
	for i, word := range kindWords {
		if word == f.Kind {
			e.Kind = Kind(i)
		}
	}
	if e.Kind == Absent && f.Kind != kindWords[Absent] {
		return fmt.Errorf("entry kind %.40q", f.Kind)
	}
	if e.Kind != File {
		return nil
	}
	var err error
	if e.Digest, err = digest.Parse(f.Hash); err != nil {
		return fmt.Errorf("entry hash: %w", err)
	}
	if e.Size, err = strconv.ParseInt(f.Size, 10, 64); err != nil || e.Size < 0 {
		return fmt.Errorf("entry size %.40q", f.Size)
	}
	e.Executable = f.Executable != nil && *f.Executable
	return nil
}

// MarshalText writes the side's word.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a side's word.
func (s *Side) UnmarshalText(text []byte) error {
	side, known := ParseSide(string(text))
	if !known {
		return fmt.Errorf("side %.40q", text)
	}
	*s = side
	return nil
}
