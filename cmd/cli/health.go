package cli

import (
	"context"
	"strings"
	"time"

	"agentsync/publish"
)

// machineObject is an installation's last pass of a verb in JSON, as the store has it.
type machineObject struct {
	Type         string           `json:"message_type"`
	Installation string           `json:"installation"`
	Host         string           `json:"host,omitempty"`
	Verb         string           `json:"verb"`
	Time         string           `json:"time"`
	AgeSeconds   int64            `json:"age_seconds"`
	Exit         int64            `json:"exit"`
	Good         string           `json:"good,omitempty"`
	Counts       map[string]int64 `json:"counts"`
}

// recordPass leaves in the store how a pass ended, for other machines to see. A pass that did
// its work does not fail when that cannot be written.
func (v *invocation) recordPass(ctx context.Context, target *publish.Target, err error, e publish.Ended) {
	code, _ := exitOf(ctx, err)
	_, e.Host, _ = strings.Cut(v.env.Machine, "\n")
	e.Exit, e.Now = int(code), v.env.Now()
	if failed := target.RecordHealth(context.WithoutCancel(ctx), e); failed != nil && err == nil {
		v.out.warn("how this pass ended is not in the store: %v", failed)
	}
}

// publishEnded is what other machines learn of a publish.
func publishEnded(r publish.Report) publish.Ended {
	return publish.Ended{Verb: "publish", Changed: r.Documents > 0, Counts: map[string]int64{
		"found": int64(r.Found), "published": int64(r.Published), "unchanged": int64(r.Unchanged), "failed": int64(r.Failed),
		"deleted": int64(r.Deleted), "unseen": int64(r.Unseen), "waiting": int64(r.Waiting), "generation": r.Generation}}
}

// ended is what other machines learn of a drain.
func (s drainSummary) ended() publish.Ended {
	return publish.Ended{Verb: "drain", Changed: s.Ran > 0, Counts: map[string]int64{
		"found": int64(s.Found), "ran": int64(s.Ran), "succeeded": int64(s.Succeeded), "failed": int64(s.Failed), "unknown": int64(s.Unknown),
		"known": int64(s.Known), "elsewhere": int64(s.Elsewhere), "waiting": int64(s.Waiting), "left": int64(s.Left), "refused": int64(s.Refused)}}
}

// lookAtMachines fills in how the last pass of each installation ended.
func (v *invocation) lookAtMachines(ctx context.Context, target *publish.Target, got *screen) {
	found, refused, err := target.Healths(ctx)
	if err != nil {
		got.warn("the records of the last passes cannot be looked at: "+err.Error(), "agentsync doctor")
	}
	for _, p := range refused {
		got.warn("a record of a last pass does not hold: "+withPath(p.Message, p.Path), "the next pass of that machine writes it anew; all of them: agentsync verify")
	}
	for _, h := range found {
		m := machineObject{"machine", h.Installation, h.Host, h.Verb, h.Time, 0, h.Exit, h.Good, h.Counts}
		if at, err := time.Parse(storedTime, h.Time); err == nil {
			m.AgeSeconds = int64(v.env.Now().Sub(at) / time.Second)
		}
		got.machines = append(got.machines, m)
	}
}

// showMachines prints a row for each machine and verb.
func (v *invocation) showMachines(machines []machineObject) error {
	list := newTable(column{title: "MACHINE"}, column{title: "VERB"}, column{title: "LAST"}, column{title: "RESULT"}, column{title: "LAST GOOD"},
		column{title: "INSTALLATION", flexible: true})
	now := v.env.Now()
	for _, m := range machines {
		good := "never"
		if m.Good != "" {
			good = agoText(age(now, &m.Good))
		}
		list.row(firstOf(m.Host, "unnamed"), m.Verb, agoText(age(now, &m.Time)), exitCode(m.Exit).word(), good, shortDID(m.Installation))
	}
	if len(machines) == 0 {
		return nil
	}
	return v.out.table(list)
}
