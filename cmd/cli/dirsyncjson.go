package cli

import (
	"agentsync/dirsync"
)

// entryObject is what stands at a path, in JSON.
type entryObject struct {
	Kind       string `json:"kind"`
	Hash       string `json:"hash,omitempty"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable"`
	Target     string `json:"target,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func entryOf(e dirsync.Entry) entryObject {
	o := entryObject{Kind: e.Kind.String(), Size: e.Size, Executable: e.Executable, Target: e.Target, Reason: string(e.Reason)}
	if e.Kind == dirsync.File {
		o.Hash = e.Digest.String()
	}
	return o
}

// actionObject is one change of a plan.
type actionObject struct {
	Type   string      `json:"message_type"`
	Path   string      `json:"path"`
	Disk   string      `json:"disk,omitempty"` // as the directory spells it, where that differs
	Side   string      `json:"side"`           // that is written
	Action string      `json:"action"`
	Before entryObject `json:"before"`
	After  entryObject `json:"after"`
}

// conflictObject is a path that needs a side.
type conflictObject struct {
	Type      string      `json:"message_type"`
	Path      string      `json:"path"`
	Code      string      `json:"code"`
	Choosable bool        `json:"choosable"`
	Ancestor  entryObject `json:"ancestor"`
	Project   entryObject `json:"project"`
	Dataset   entryObject `json:"dataset"`
}

// stayObject is a path that the plan leaves as it is: adoption, held, blocked, local, or
// a choice that it used.
type stayObject struct {
	Type   string `json:"message_type"`
	Path   string `json:"path"`
	Side   string `json:"side,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// planSummary ends a plan.
type planSummary struct {
	Type             string `json:"message_type"`
	Plan             string `json:"plan"`
	Phase            string `json:"phase"`
	Binding          string `json:"binding"`
	Revision         int64  `json:"revision"`
	Direction        string `json:"direction"`
	Dataset          string `json:"dataset"`
	Head             int64  `json:"head"` // of the dataset; 0 when it holds nothing yet
	ToProject        int    `json:"to_project"`
	ToDataset        int    `json:"to_dataset"`
	Replaced         int    `json:"replaced"` // of both
	Size             int64  `json:"size"`     // of the files that are created or replaced
	Adoptions        int    `json:"adoptions"`
	Held             int    `json:"held"`
	Conflicts        int    `json:"conflicts"`
	Blocked          int    `json:"blocked"`
	Local            int    `json:"local"`
	Choices          int    `json:"choices"`
	AcceptMissing    bool   `json:"accept_missing"`
	AcceptOverwrites int    `json:"accept_overwrites"`
	AcceptPast       bool   `json:"accept_past"`
	Rebase           bool   `json:"rebase"`
	Store            string `json:"store"`
}

func (v *invocation) planObjects(p *synced) error {
	var objects []any
	plan := p.plan
	sum := planSummary{Type: "summary", Plan: p.id, Phase: string(p.phase), Binding: plan.Binding, Revision: plan.Revision,
		Direction: string(plan.Direction), Dataset: p.binding.Dataset, Head: plan.Head, ToProject: plan.Writes(dirsync.Project),
		ToDataset: plan.Writes(dirsync.Dataset), Adoptions: len(plan.Adoptions), Held: len(plan.Held), Conflicts: len(plan.Conflicts),
		Blocked: len(plan.Blocked), Local: len(plan.Local), Choices: len(plan.Choices), AcceptMissing: plan.Accepts.Missing,
		AcceptOverwrites: plan.Accepts.Overwrites, AcceptPast: plan.Accepts.Past, Rebase: plan.Accepts.Rebase, Store: p.binding.Store}
	for i := range plan.Actions {
		a := &plan.Actions[i]
		verb := a.Verb()
		if verb == "replace" {
			sum.Replaced++
		}
		if verb == "replace" || verb == "create" {
			sum.Size += a.After.Size
		}
		objects = append(objects, actionObject{"action", a.Path, a.Disk, a.Side.String(), verb, entryOf(a.Before), entryOf(a.After)})
	}
	for i := range plan.Conflicts {
		c := &plan.Conflicts[i]
		objects = append(objects, conflictObject{"conflict", c.Path, string(c.Code), c.Choosable(), entryOf(c.Ancestor), entryOf(c.Project), entryOf(c.Dataset)})
	}
	for _, o := range append(append(objects, stays(plan)...), sum) {
		if err := v.out.object(o); err != nil {
			return err
		}
	}
	return nil
}

func stays(plan *dirsync.Plan) (objects []any) {
	for _, a := range plan.Adoptions {
		objects = append(objects, stayObject{Type: "adoption", Path: a.Path})
	}
	for _, h := range plan.Held {
		objects = append(objects, stayObject{Type: "held", Path: h.Path, Reason: string(h.Reason)})
	}
	for _, b := range plan.Blocked {
		objects = append(objects, stayObject{"blocked", b.Path, b.Side.String(), string(b.Reason)})
	}
	for _, l := range plan.Local {
		objects = append(objects, stayObject{Type: "local", Path: l.Path, Side: l.Side.String()})
	}
	for _, c := range plan.Choices {
		objects = append(objects, stayObject{Type: "choice", Path: c.Path, Side: c.Side.String()})
	}
	return objects
}
